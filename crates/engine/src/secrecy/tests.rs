//! What is left of statements.

use super::without_passwords;

#[test]
fn passwords_are_left_out_and_other_texts_stay() {
    let table = [
        ("alter role a password 'canary'", "alter role a password '********'"),
        ("CREATE USER a PASSWORD\n E'canary' LOGIN; select 1", "CREATE USER a PASSWORD'********'"),
        ("alter role é password$$canary$$", "alter role é password'********'"),
        ("alter role a password /* x */ 'canary'", "alter role a password'********'"),
        ("alter role a password null", "alter role a password null"),
        ("select password from users", "select password from users"),
        ("create secret s (type s3, key_id 'canary')", "create secret'********'"),
        ("CREATE OR REPLACE SECRET s(secret $$canary$$)", "CREATE OR REPLACE SECRET'********'"),
        ("create /* a */ secret s (x 'canary')", "create /* a */ secret'********'"),
        ("create secret if not exists \"s\" (key_id canary)", "create secret'********'"),
        ("creat secret s (type s3, secret 'canary')", "creat secret s (type s3, secret'********'"),
        ("x key_id = 'canary'", "x key_id'********'"),
        ("x session_token := E'canary'", "x session_token'********'"),
        ("x credential 'me:canary'", "x credential'********'"),
        ("x provider credential_chain", "x provider credential_chain"),
        ("drop secret s", "drop secret s"),
        ("select secret from t where a = 'x'", "select secret from t where a = 'x'"),
    ];
    for (text, expected) in table {
        let kept = without_passwords(text.into());
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(squeezed(&kept), squeezed(expected), "{text}");
        assert!(!kept.contains("canary"), "{kept}");
    }
}
