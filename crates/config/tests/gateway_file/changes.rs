//! What of a file a gateway that runs by another one can take.

use super::setup;

fn changed(from: &str, to: &str) -> (Vec<String>, Vec<&'static str>) {
    let interfaces = "[interfaces]\nlan = [\"a\", \"b\"]\nsatellite = [\"c\"]\n";
    let read = |text: &str| match text.contains("[interfaces]") {
        true => setup(text).expect(text),
        false => setup(&format!("{interfaces}{text}")).expect(text),
    };
    let (from, to) = (read(from), read(to));
    (from.fixed_keys_changed(&to), from.tables_changed(&to))
}

#[test]
fn what_may_change_is_told_by_its_table() {
    for (text, table) in [
        ("[satellite]\nrate = \"8Mbit/s\"", "satellite"),
        ("[satellite]\nadd-options = \"never\"", "satellite"),
        ("[satellite]\nrto.min = \"2s\"", "satellite"),
        ("[lan]\nmss = \"clamp\"", "lan"),
        ("[limits]\nmemory = \"8MiB\"", "limits"),
        ("[limits]\nflows = 7", "limits"),
        ("[limits]\ndrain = \"7s\"", "limits"),
        ("[policy]\nobserve = true", "policy"),
        ("[[policy.rule]]\naction = \"forward\"\nport = 22", "policy"),
        ("[log]\nevery = \"7s\"", "log"),
    ] {
        assert_eq!(changed("", text), (vec![], vec![table]), "{text}");
        assert_eq!(changed(text, ""), (vec![], vec![table]), "{text}");
        assert_eq!(changed(text, &format!("# A remark.\n{text}")), (vec![], vec![]), "{text}");
    }
}

#[test]
fn what_may_not_change_is_told_by_its_key() {
    for (text, key) in [
        ("[interfaces]\nlan = [\"a\"]\nsatellite = [\"c\"]", "interfaces.lan"),
        ("[interfaces]\nlan = [\"b\", \"a\"]\nsatellite = [\"d\"]", "interfaces.satellite"),
        ("[splitting]\nhandshake = \"downstream-first\"", "splitting.handshake"),
        ("[splitting]\nfin = \"immediate\"", "splitting.fin"),
        ("[splitting]\nfin-hold = \"7s\"", "splitting.fin-hold"),
        ("[splitting]\nannounce = false", "splitting.announce"),
        ("[splitting]\nadopt-after = \"1MB\"", "splitting.adopt-after"),
        ("[splitting]\nsoft-state = true", "splitting.soft-state"),
        ("[policy]\nreject-quic = true", "policy.reject-quic"),
        ("[metrics]\nlisten = \"127.0.0.1:9464\"", "metrics.listen"),
    ] {
        assert_eq!(changed("", text), (vec![key.to_owned()], vec![]), "{text}");
    }
}
