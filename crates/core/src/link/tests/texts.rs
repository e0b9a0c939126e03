//! Text forms are read, written, and refused with what was expected.

use super::*;

fn queue(text: &str) -> QueueKind {
    text.parse().unwrap()
}

#[test]
fn queues_are_read() {
    assert_eq!(queue("345packets"), QueueKind::DropTail(QueueLimit::Packets(345)));
    assert_eq!(queue("drop-tail:limit=420packets"), QueueKind::DropTail(QueueLimit::Packets(420)));
    assert_eq!(queue("500KB"), QueueKind::DropTail(QueueLimit::Bytes(Bytes::new(500_000))));
    assert_eq!(queue("unlimited"), QueueKind::DropTail(QueueLimit::Unlimited));
    assert_eq!(queue("red"), QueueKind::Red(RedConfig::default()));
    assert_eq!(
        queue("red:min-threshold=5,max-threshold=15,weight=0.002"),
        QueueKind::Red(RedConfig::default())
    );
    let scaled = RedConfig {
        min_threshold: 20.0,
        max_threshold: 60.0,
        limit: QueueLimit::Bytes(Bytes::new(64 * 1024)),
        max_p: Probability::new(0.02).unwrap(),
        gentle: true,
        wait: false,
        average: Measure::Bytes,
        drops: Measure::Bytes,
        ecn: true,
        ..RedConfig::default()
    };
    let text = "red:min-threshold=20, limit=64KiB, max-p=2%, gentle=on, wait=off, average=bytes, \
                drops=bytes, ecn=on";
    assert_eq!(queue(text), QueueKind::Red(scaled));
    assert_eq!(queue("codel:target=5ms,interval=100ms"), QueueKind::CoDel(CoDelConfig::default()));
    let policer = PolicerConfig {
        rate: Rate::from_bits_per_sec(8_000_000),
        burst: Bytes::new(30_000),
        limit: QueueLimit::Unlimited,
    };
    assert_eq!(queue("policer:rate=8Mbit/s,burst=30KB"), QueueKind::Policer(policer));
    let codel = "codel:target=1500us,ecn=on,limit=9KB";
    let policer = "policer:burst=1501B,rate=1.5Mbit/s,limit=20packets";
    assert_eq!(queue("fq-codel"), QueueKind::FqCoDel(FqCoDelConfig::default()));
    assert_eq!(queue("pie"), QueueKind::Pie(PieConfig::default()));
    let fq = "fq-codel:flows=16,quantum=300B,target=7ms,interval=1500us,ecn=off,limit=1MB";
    let pie = "pie:target=20ms,update=16ms,burst=0s,alpha=0.25,beta=2.5,ecn=on,limit=2packets";
    for text in ["7packets", "unlimited", "red", text, codel, policer, fq, pie] {
        assert_eq!(queue(&queue(text).to_string()), queue(text));
    }
}

#[test]
fn each_discipline_has_what_its_entry_says() {
    for entry in QueueKind::entries() {
        let name = entry.name;
        let example = queue(entry.example);
        assert_eq!(example.name(), name);
        assert_eq!(queue(&example.to_string()), example);
        // The usual values, said or not, are the same queue.
        let needed = entry.parameters.iter().filter(|parameter| parameter.usual.is_none());
        let needed: Vec<&str> = needed.map(|parameter| parameter.name).collect();
        let given = entry
            .example
            .split([':', ','])
            .filter(|pair| pair.split_once('=').is_some_and(|(key, _)| needed.contains(&key)));
        let given: Vec<&str> = given.collect();
        let usual = queue(&format!("{name}:{}", given.join(",")));
        for parameter in &entry.parameters {
            assert!(!parameter.takes.is_empty() && parameter.about.ends_with('.'), "{name}");
            // Some depend on another one's, and say so in words.
            let Some(value) = parameter.usual.as_ref().filter(|usual| !usual.contains(' ')) else {
                continue;
            };
            let said = format!("{name}:{},{}={value}", given.join(","), parameter.name);
            assert_eq!(queue(&said), usual, "{said}");
        }
    }
    assert_eq!(
        queue("red:min-threshold=20"),
        queue("red:min-threshold=20,max-threshold=60"),
        "three times the minimum"
    );
}

#[test]
fn limits_are_read_in_products_of_the_line() {
    let line =
        Line { rate: Some(Rate::from_bits_per_sec(8_000_000)), delay: Duration::from_millis(250) };
    let queue = |text: &str| QueueKind::of_text(text, Some(line), None).unwrap();
    let half = QueueLimit::Bytes(Bytes::new(250_000));
    assert_eq!(queue("0.5bdp"), QueueKind::DropTail(half));
    assert_eq!(queue("codel:limit=0.5bdp"), queue("codel:limit=250KB"));
    let usual = QueueKind::of_text("red", Some(line), Some(half)).unwrap();
    assert_eq!(usual, queue("red:limit=0.5bdp"));
    let near = Line { delay: Duration::ZERO, ..line };
    assert_eq!(near.limit(1.0), QueueLimit::Bytes(Bytes::new(15_000)));
    assert_eq!(Line { rate: None, ..line }.limit(1.0), QueueLimit::Unlimited);
}

#[test]
fn losses_and_outages_are_read() {
    let loss = |text: &str| text.parse::<LossKind>().unwrap();
    assert_eq!(loss("0"), LossKind::NONE);
    assert_eq!(loss("1%"), Probability::new(0.01).unwrap().into());
    let bursts = GilbertElliott::from_bursts(5.0, Probability::new(0.01).unwrap()).unwrap();
    let channel = loss("gilbert-elliott:burst=5,loss=1%");
    assert_eq!(channel, LossKind::GilbertElliott(bursts));
    let outages = |text: &str| text.parse::<Outages>().unwrap();
    let times = [(10_000, 10_500), (60_000, 62_000)];
    let times = times.map(|(a, b)| Instant::from_millis(a)..Instant::from_millis(b));
    assert_eq!(Ok(outages("10s+500ms,60s+2s")), Outages::listed(times.to_vec()));
    for text in [
        "1e-4",
        "gilbert-elliott:burst=5,loss=1%",
        "gilbert-elliott:p=0.2%,r=20%",
        "gilbert-elliott:good=10s,bad=1500us,h=0.25,k=0.9999",
    ] {
        assert_eq!(loss(&loss(text).to_string()), loss(text));
    }
    for text in ["none", "10s+500ms,60s+2s", "periodic:first=10s,lasting=2s,every=1min"] {
        assert_eq!(outages(&outages(text).to_string()), outages(text));
    }
}

#[test]
fn what_is_wrong_is_named_with_what_was_expected() {
    let queue = |text: &str| text.parse::<QueueKind>().unwrap_err().to_string();
    let loss = |text: &str| text.parse::<LossKind>().unwrap_err().to_string();
    let outages = |text: &str| text.parse::<Outages>().unwrap_err().to_string();
    for (message, parts) in [
        (queue("blue"), ["`blue`", "codel:target=20ms"]),
        (queue("1.5packets"), ["1.5packets", "345packets"]),
        (queue("drop-tail:limit=many"), ["`many`", "64KiB"]),
        (queue("0packets"), ["`0packets`", "500KB"]),
        (queue("1bdp"), ["`1bdp`", "64KiB"]),
        (queue("red:size=5"), ["`size`", "max-p"]),
        (queue("red:min-threshold=5,min-threshold=6"), ["`min-threshold`", "twice"]),
        (queue("red:min-threshold=5,max-threshold=5"), ["`5`", "above `min-threshold`"]),
        (queue("red:min-threshold=7,max-threshold=6"), ["`6`", "`min-threshold`, 7"]),
        (queue("red:average=words"), ["`words`", "one of `packets`, `bytes`"]),
        (queue("red:weight=2"), ["`2`", "0 to 1"]),
        (queue("red:max-p=2"), ["`2`", "a probability"]),
        (queue("red:gentle=yes"), ["`yes`", "`on` or `off`"]),
        (queue("codel:target=5"), ["`5`", "100ms"]),
        (queue("codel:interval=0ms"), ["`0ms`", "100ms"]),
        (queue("fq-codel:flows=0"), ["`0`", "1 to 65535"]),
        (queue("pie:update=1us"), ["`1us`", "at least 1ms"]),
        (queue("policer:rate=8Mbit/s"), ["`burst`", "30KB"]),
        (queue("policer:burst=30KB,rate=0bit/s"), ["`0bit/s`", "8Mbit/s"]),
        (loss("2"), ["`2`", "0 to 1"]),
        (loss("often"), ["`often`", "gilbert-elliott:burst=5"]),
        (loss("gilbert-elliott:burst=5"), ["`loss`", "burst / (burst + 1)"]),
        (loss("gilbert-elliott:burst=1,loss=60%"), ["`60%`", "burst / (burst + 1)"]),
        (loss("gilbert-elliott:good=1s,bad=1ns"), ["`1ns`", "at least 1us"]),
        (loss("gilbert-elliott"), ["`p`", "a probability"]),
        (loss("gilbert-elliott:p=1%,r=1%,q=1"), ["`q`", "p, r"]),
        (outages("10s"), ["`10s`", "10s+500ms"]),
        (outages("10s+0s"), ["longer than nothing", "10.0"]),
        (outages("periodic:lasting=2s,every=1s"), ["2s", "1s"]),
    ] {
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}
