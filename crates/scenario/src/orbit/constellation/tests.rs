use super::*;
use crate::orbit::{Choice, Pass, Walker};
use bentpipe_core::link::Varying;

/// Starlink's first shell, as tests/constellation/reference.py has it.
const SHELL: Walker = Walker {
    altitude: 550.0,
    inclination: 53.0,
    planes: 72,
    satellites: 22,
    phasing: 39,
    spread: 360.0,
    min_elevation: 25.0,
    choice: Choice::Highest,
    timing: TIMING,
};
const TIMING: Timing = Timing {
    slot: Some(Duration::from_millis(100)),
    handover: Duration::ZERO,
    step: Duration::from_millis(100),
    begin: Duration::ZERO,
};
const PARIS: Position = Position { latitude: 48.8566, longitude: 2.3522 };
const NEW_YORK: Position = Position { latitude: 40.7128, longitude: -74.0060 };

fn shell(crosslinks: Crosslinks, relays: &[Position]) -> Constellation {
    let sets = ElementSets::parse(&element_sets(&SHELL)).unwrap();
    Constellation::new(sets, crosslinks, relays.to_vec(), 25.0, TIMING).unwrap()
}

/// In ms, and how much of the time there is a way at all.
fn delay_at(pass: &Pass, at: Duration) -> f64 {
    let delay = match &pass.delay {
        Varying::Constant(delay) => *delay,
        changing => changing.at(bentpipe_core::time::Instant::ZERO + at),
    };
    delay.as_secs_f64() * 1e3
}

#[test]
fn delays_over_a_grid_are_those_of_another_program() {
    let pass = shell(Crosslinks::Grid, &[]).pass(PARIS, NEW_YORK, Duration::from_secs(200));
    assert!(pass.outages.is_empty(), "{:?}", pass.outages);
    let table = include_str!("../../../tests/constellation/delays.csv");
    let rows = table.lines().skip(1).map(|row| row.split_once(',').unwrap());
    let off: Vec<f64> = rows
        .map(|(time, delay)| {
            let at = Duration::from_secs_f64(time.parse().unwrap());
            (delay_at(&pass, at) - delay.parse::<f64>().unwrap()).abs()
        })
        .collect();
    let worst = off.iter().copied().fold(0.0, f64::max);
    assert_eq!(off.len(), 2001);
    assert!(off.iter().filter(|off| **off > 0.01).count() <= off.len() / 100, "{worst} ms");
    // Some way changes, and each has more than one satellite.
    assert!(
        pass.ways.len() > 5 && pass.ways.iter().all(|(_, way)| way.as_ref().unwrap().len() > 3)
    );
}

#[test]
fn without_crosslinks_a_station_between_helps() {
    let second = Duration::from_secs(1);
    let far = shell(Crosslinks::None, &[]).pass(PARIS, NEW_YORK, second);
    assert_eq!(far.ways, [(Duration::ZERO, None)]);
    assert_eq!(far.outages.len(), 1);
    // Ireland, a ship, Newfoundland: each within one satellite's sight of the next.
    let relays =
        [(53.0, -9.0), (51.0, -20.0), (50.0, -32.0), (49.0, -43.0), (47.6, -52.7), (44.6, -63.6)]
            .map(|(latitude, longitude)| Position { latitude, longitude });
    let near = shell(Crosslinks::None, &relays).pass(PARIS, NEW_YORK, second);
    assert!(near.outages.is_empty(), "{:?}", near.outages);
    let straight = shell(Crosslinks::Grid, &[]).pass(PARIS, NEW_YORK, second);
    let [down, up] = [&near, &straight].map(|pass| delay_at(pass, Duration::ZERO));
    assert!(down > up && down < 2.0 * up, "{down} {up}");
    // Satellites and stations take turns.
    let way = near.ways[0].1.as_ref().unwrap();
    assert!(way.iter().enumerate().all(|(at, node)| (*node >= 1584) == (at % 2 == 1)), "{way:?}");
}

#[test]
fn one_satellite_serves_who_is_near() {
    let munich = Position { latitude: 48.1, longitude: 11.6 };
    let pass = shell(Crosslinks::None, &[]).pass(PARIS, munich, Duration::from_secs(300));
    assert!(pass.ways.iter().all(|(_, way)| way.as_ref().unwrap().len() == 1));
    // Between twice 550 km and twice 1123 km.
    for at in 0..300 {
        let delay = delay_at(&pass, Duration::from_secs(at));
        assert!((3.6..7.6).contains(&delay), "{delay}");
    }
}

/// Files as Hypatia, NORAD and others have them, and what is wrong with some.
#[test]
fn files_of_element_sets() {
    let [first, second] = VECTORS[0].0;
    let parse = |text: String| ElementSets::parse(&text);
    let two = parse(format!("{first}\n{second}\n")).unwrap();
    assert_eq!((two.satellites.len(), two.grid), (1, None));
    let named = parse(format!("1 1\r\nVANGUARD 1\r\n{first}\r\n{second}\r\n\r\n")).unwrap();
    assert_eq!((named.satellites.len(), named.grid), (1, Some([1, 1])));
    let wrong = |text: String| parse(text).unwrap_err().to_string();
    assert_eq!(wrong(String::new()), "line 1: expected two-line element sets");
    assert_eq!(wrong(format!("{first}\n")), "line 1: its second line is missing");
    assert_eq!(wrong("rate,delay\n1,2\n".to_owned()), "line 1: expected a two-line element set");
    let few = wrong(format!("3 5\n{first}\n{second}\n"));
    assert_eq!(few, "line 1: 3 × 5 satellites expected, 1 found");
    let changed = wrong(format!("NAME\n{}\n{second}\n", first.replace("00179", "00189")));
    assert!(changed.starts_with("line 2: ") && changed.contains("hecksum"), "{changed}");
    let no_grid = parse(format!("{first}\n{second}\n")).unwrap();
    assert!(Constellation::new(no_grid, Crosslinks::Grid, Vec::new(), 25.0, TIMING).is_none());
}

/// The published vectors of SGP4 (Vallado, Crawford, Hujsak and Kelso, AIAA 2006-6753: SGP4-VER.TLE
/// and tcppver.out): element sets of satellites near and far, and where they are after so many
/// minutes, in km.
#[test]
fn sgp4_is_that_of_the_published_vectors() {
    for ([first, second], positions) in VECTORS {
        let sets = ElementSets::parse(&format!("{first}\n{second}\n")).unwrap();
        for (minutes, expected) in *positions {
            let found = sets.satellites[0].at(sets.epoch + minutes).unwrap();
            for (found, expected) in found.iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 1e-3,
                    "{first}, {minutes} min: {found} {expected}"
                );
            }
        }
    }
}

/// Two lines, and positions after minutes.
type Vectors = ([&'static str; 2], &'static [(f64, [f64; 3])]);

#[rustfmt::skip]
const VECTORS: &[Vectors] = &[
    ([
        "1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753",
        "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667",
    ], &[
        (0.0, [7022.46529266, -1400.08296755, 0.03995155]),
        (2160.0, [190.19796988, 7746.96653614, 5110.00675412]),
        (4320.0, [-9060.47373569, 4658.70952502, 813.68673153]),
    ]),
    ([
        "1 06251U 62025E   06176.82412014  .00008885  00000-0  12808-3 0  3985",
        "2 06251  58.0579  54.0425 0030035 139.1568 221.1854 15.56387291  6774",
    ], &[
        (0.0, [3988.31022699, 5498.96657235, 0.90055879]),
        (1440.0, [-2777.14682335, -5663.16031708, -2462.54889123]),
        (2880.0, [1159.27802897, 5056.60175495, 4353.49418579]),
    ]),
    ([
        "1 28057U 03049A   06177.78615833  .00000060  00000-0  35940-4 0  1836",
        "2 28057  98.4283 247.6961 0000884  88.1964 271.9322 14.35478080140550",
    ], &[
        (0.0, [-2715.28237486, -6619.26436889, -0.01341443]),
        (1440.0, [688.16056594, 4124.87618964, 5794.55994449]),
        (2880.0, [1788.42334580, 1990.50530957, -6640.59337725]),
    ]),
    ([
        "1 88888U          80275.98708465  .00073094  13844-3  66816-4 0    87",
        "2 88888  72.8435 115.9689 0086731  52.6988 110.5714 16.05824518  1058",
    ], &[
        (0.0, [2328.96975262, -5995.22051338, 1719.97297192]),
        (720.0, [2567.56229695, -6112.50383922, 713.96374435]),
        (1440.0, [2742.55398832, -6079.67009123, -326.39012649]),
    ]),
    ([
        "1 08195U 75081A   06176.33215444  .00000099  00000-0  11873-3 0   813",
        "2 08195  64.1586 279.0717 6877146 264.7651  20.2257  2.00491383225656",
    ], &[
        (0.0, [2349.89483350, -14785.93811562, 0.02119378]),
        (1440.0, [2890.80638268, -15446.43952300, 948.77010176]),
        (2880.0, [3417.20931586, -16038.79510665, 1894.74934058]),
    ]),
    ([
        "1 11801U          80230.29629788  .01431103  00000-0  14311-1      13",
        "2 11801  46.7916 230.4354 7318036  47.4722  10.4117  2.28537848    13",
    ], &[
        (0.0, [7473.37102491, 428.94748312, 5828.74846783]),
        (720.0, [14271.29083858, 24110.44309009, -4725.76320143]),
        (1440.0, [9787.87836256, 33753.32249667, -15030.79874625]),
    ]),
    ([
        "1 23599U 95029B   06171.76535463  .00085586  12891-6  12956-2 0  2905",
        "2 23599   6.9327   0.2849 5782022 274.4436  25.2425  4.47796565123555",
    ], &[
        (0.0, [9892.63794341, 35.76144969, -1.08228838]),
        (360.0, [11376.23941678, 12858.97121366, 1563.40660172]),
        (720.0, [7140.41945884, 20539.25485336, 2501.21469368]),
    ]),
    ([
        "1 28872U 05037B   05333.02012661  .25992681  00000-0  24476-3 0  1534",
        "2 28872  96.4736 157.9986 0303955 244.0492 110.6523 16.46015938 10708",
    ], &[
        (0.0, [-6131.82730456, 2446.52815528, -253.64211033]),
        (25.0, [896.73799533, 447.12357305, 6607.22400507]),
        (50.0, [5548.43325922, -2480.16469245, -1979.24314527]),
    ]),
];
