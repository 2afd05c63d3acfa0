//! Where keys come from, and that they are never shown.

use super::*;

#[test]
fn profiles_are_found() {
    let text = "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=b=c\n\n\
                [profile two]\nAWS_ACCESS_KEY_ID=D\naws_secret_access_key = e\naws_session_token = f\n\
                [half]\naws_access_key_id = G\n";
    let check = |profile: &str, expected: Option<(&str, &str, Option<&str>)>| {
        let found = profile::keys(text, profile).ok();
        let found = found.as_ref().map(|k| (&*k.id, &*k.secret, k.token.as_deref()));
        assert_eq!(found, expected, "{profile}");
    };
    check("default", Some(("A", "b=c", None)));
    check("two", Some(("D", "e", Some("f"))));
    check("half", None);
    check("three", None);
}

#[test]
fn variables_come_in_pairs() {
    let check = |set: &'static [&'static str], expected: Option<Credentials>| {
        let variable = |name: &str| set.contains(&name).then(|| name.to_lowercase());
        assert_eq!(Credentials::from_variables(variable).ok(), expected, "{set:?}");
    };
    let (id, secret, token) = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN");
    check(&[], Some(Credentials::Anonymous));
    check(&["AWS_ACCESS_KEY_ID"], None);
    check(&["AWS_SECRET_ACCESS_KEY"], None);
    let both = Credentials::keys(id.to_lowercase(), secret.to_lowercase());
    check(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"], Some(both));
    let all = [id, secret, token].map(str::to_lowercase);
    let [id, secret, token] = all;
    check(
        &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
        Some(Credentials::session(id, secret, token)),
    );
}

#[test]
fn nothing_secret_is_shown() {
    let shown = format!(
        "{:?} {:?} {:?}",
        Credentials::session("AKIDABC", "hunter2", "tokentoken"),
        Credentials::bearer("ya29.bearer"),
        profile::keys("[p]\naws_access_key_id = AKIDABC\naws_secret_access_key =", "p"),
    );
    for secret in ["AKIDABC", "hunter2", "tokentoken", "ya29"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}
