//! Which connections are split.

use super::{INTERFACES, read, setup};
use bentpipe_gateway::Side;
use bentpipe_gateway::policy::{self, Policy};

#[test]
fn rules_are_read_in_their_order() {
    let text = format!(
        "{INTERFACES}[policy]\nobserve = true\nsample = \"2.5%\"\n\
         [[policy.rule]]\naction = \"split\"\nport = [22, \"8000-8999\"]\nfrom = \"satellite\"\n\
         [[policy.rule]]\naction = \"forward\"\nclient = \"10.0.0.0/8\"\n\
         server = [\"192.0.2.1\", \"2001:db8::/32\"]\ndscp = [\"ef\", 8]\n"
    );
    let expected = Policy {
        observe: true,
        sample: "2.5%".parse().unwrap(),
        rules: vec![
            policy::Rule {
                from: Some(Side::Satellite),
                port: vec!["22".parse().unwrap(), "8000-8999".parse().unwrap()],
                action: policy::Action::Split,
                ..policy::Rule::default()
            },
            policy::Rule {
                client: vec!["10.0.0.0/8".parse().unwrap()],
                server: vec!["192.0.2.1".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
                dscp: vec!["ef".parse().unwrap(), "cs1".parse().unwrap()],
                action: policy::Action::Forward,
                ..policy::Rule::default()
            },
        ],
    };
    assert_eq!(read(&text).unwrap().policy, expected);
    assert_eq!(read(INTERFACES).unwrap().policy, Policy::default());
}

#[test]
fn quic_is_rejected_only_if_that_is_asked_for() {
    let text = format!("{INTERFACES}[policy]\nreject-quic = true\n");
    assert!(setup(&text).unwrap().reject_quic);
    assert!(!setup(INTERFACES).unwrap().reject_quic);
}

#[test]
fn mistakes_are_named_with_their_line_and_what_was_expected() {
    for (line, parts) in [
        ("client = \"10.0.0\"", ["`10.0.0`", "10.0.0.0/8"]),
        ("server = [\"::/0\", \"example.org\"]", ["`example.org`", "2001:db8::/32"]),
        ("port = [80, 70000]", ["`70000`", "8000-8999"]),
        ("port = -1", ["`-1`", "1 to 65535"]),
        ("port = true", ["a number", "list"]),
        ("dscp = \"bulk\"", ["`bulk`", "af43"]),
        ("client = []", ["empty", "leave it out"]),
        ("from = \"wan\"", ["no side", "`wan`"]),
        ("ports = 80", ["`ports`", "`port`"]),
        ("observe = true", ["`observe`", "[[policy.rule]]"]),
    ] {
        let text = format!("{INTERFACES}[[policy.rule]]\naction = \"forward\"\n{line}\n");
        let message = read(&text).unwrap_err();
        assert!(message.starts_with("FILE:6:"), "{line}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        for part in parts {
            assert!(message.contains(part), "{line}: {message}");
        }
    }
    let message = read(&format!("{INTERFACES}[[policy.rule]]\nport = 80\n")).unwrap_err();
    assert!(message.contains("[[policy.rule]] has no `action`"), "{message}");
    let message = read(&format!("{INTERFACES}[[policy.rule]]\naction = \"drop\"\n"));
    let message = message.unwrap_err();
    assert!(message.starts_with("FILE:5:") && message.contains("observe"), "{message}");
}
