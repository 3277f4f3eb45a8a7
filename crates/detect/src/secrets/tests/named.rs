//! Values that show little by themselves, under names that say the rest; and sentences that lead
//! from a name to a value.

use super::{keyed, kinds};

#[test]
fn digits_and_hashes_are_secrets_under_the_name_of_one() {
    let check = |text: &str| assert_eq!(kinds(text).len(), 1, "{text}");
    check("DB_PASSWORD=59382716405528");
    check("password=5938271640");
    check("password: 1748392017");
    check("MAIL_PASSWORD_PROD=59382716405528");
    check("DB_PASSWORD=59382716405528593827164055");
    check("API_KEY=593827164055");
    check("api_key: '59382716405528'");
    check("ACCESS_TOKEN=59382716405528");
    check("token: 59382716405528073");
    check("client_secret = 59382716405528");
    check("{\"apiKey\": \"59382716405528\"}");
    check("export SERVICE_TOKEN_2=59382716405528");
    check("X-Api-Key: 59382716405528");
    check("API_KEY=e8a90c71b5d2");
    check("API_KEY=e8a90c71b5");
    check("API_KEY=E8A90C71B5D2");
    check("APP_SECRET=e8a90c71b5d2a7");
    check("auth_token=e8a90c71b5d2a7f3");
    check("DB_PASSWORD=e8a90c71b5d2a7f3");
    check("signing_key: e8a90c71b5d2a7f3c604");
    check("our api key is e8a90c71b5d2");
    check("API_KEY=k3q9zx0m7t");
    check("API_KEY=qxkzw7vjmtp");
    check("API_KEY=qxkzwvjmtp");
    check("API_KEY=K7QX2M9ZC4WB");
    check("DB_PASSWORD=qxkzw7vjmtp");
    check("DB_PASSWORD=qxkzwvjmtpbg");
    check("secret: hZ3kQ8wXv1");
}

#[test]
fn numbers_and_hashes_under_other_names_are_let_pass() {
    let check = |text: &str| assert_eq!(kinds(text), Vec::<String>::new(), "{text}");
    check("max_tokens=4096");
    check("token_count: 9382716405");
    check("tokens: 9382716405");
    check("password_reset_at=1748392017");
    check("password_changed_at=1748392017");
    check("pwdLastSet: 133497612345678901");
    check("badPasswordTime: 133497612046618901");
    check("secret_version: 12");
    check("secretRotation: 5938271640");
    check("API_KEY_ID=e8a90c71b5d2");
    check("PASSWORD_MIN_LENGTH=12");
    check("PASSWORD_MIN_AGE=5938271640");
    check("key: 5938271640");
    check("key=e8a90c71b5d2");
    check("user_key: 5938271640");
    check("clave: 5938271640");
    check("sort_key=e8a90c71b5d2");
    check("sync_token=1748392017");
    check("sync_token=1748392017123");
    check("token: 20260203110941");
    check("token=\"tokenstream2\"");
    check("commit: e8a90c71b5d2");
    check("build_id=e8a90c71b5d2a7f3");
    check("build_token: 5938271640");
    check("etag: e8a90c71b5d2");
    check("csrftoken=e8a90c71b5d2");
    check("PublicKeyToken=b77a5c561934e089");
    check("fn token(token: TokenStream2)");
    check("the token 5938271640 was read");
    check("password=1234567890");
    check("password=9876543210");
    check("API_KEY=1111111111111");
    check("API_KEY=12341234123412");
    check("API_KEY=abc1234567890");
    check("api_key = \"production1\"");
    check("api_key = \"openaikey2024\"");
    check("api_key: ApiKeyCredential");
    check("secret: kubernetes");
    check("secret = \"base64encoded\"");
    check("DB_PASSWORD=postgresql");
    check("PASSWORD=correcthorse");
    check("password: 5432");
}

#[test]
fn a_field_with_the_name_of_a_secret_may_hold_digits() {
    let check =
        |key: &str, value: &str, expect: &[&str]| assert_eq!(keyed(key, value), expect, "{key}");
    check("db_password", "59382716405528", &["database_password"]);
    check("apiKey", "e8a90c71b5d2", &["generic_secret"]);
    check("access_token", "5938271640", &["generic_secret"]);
    check("account_key", "5938271640", &[]);
    check("token_id", "e8a90c71b5d2", &[]);
    check("issued_token", "1748392017", &[]);
}

#[test]
fn sentences_lead_to_a_password_in_many_languages() {
    let check = |text: &str| assert_eq!(kinds(text), ["password"], "{text}");
    check("The root password was changed to Kx7-moon-Vb");
    check("The root password has been reset to Kx7-moon-Vb.");
    check("the admin password is now Kx7-moon-Vb, tell nobody");
    check("password set to Kx7-moon-Vb");
    check("your passphrase will be Kx7-moon-Vb");
    check("the password was rotated to 59382716405528");
    check("the password for the staging box was changed to Kx7-moon-Vb");
    check("Passwort lautet Kirsche!4711");
    check("Das Kennwort ist jetzt Kirsche!4711.");
    check("Das Passwort wurde auf Kirsche!4711 gesetzt");
    check("WLAN-Passwort: Kirsche!4711");
    check("Mot de passe : Cerise!4711");
    check("Mot de passe\u{a0}: Cerise!4711");
    check("le mot de passe est Cerise!4711");
    check("Le mot de passe a été changé en Cerise!4711");
    check("La contraseña es Cereza!4711");
    check("A palavra-passe é Cereja!4711");
    check("Hasło: Wisnia!4711");
    check("Heslo: Visen!4711");
    check("Lösenord: Korsbar!4711");
    check("пароль: Zima-2026-x");
    check("Пароль теперь Zima-2026-x");
    check("密码：Zima-2026-x");
    check("数据库密码: Zima-2026-x");
    check("パスワード：Zima-2026-x");
    check("비밀번호: Zima-2026-x");
}

#[test]
fn sentences_about_passwords_are_let_pass() {
    let check = |text: &str| assert_eq!(kinds(text), Vec::<String>::new(), "{text}");
    check("The root password was changed to something longer");
    check("the password was changed to Base64-encoded form");
    check("the password has been set to SHA256-hashed values");
    check("the password is in Vault-01b");
    check("the password to Server-01b is with Ana");
    check("the password was changed on 2026-02-03");
    check("password changed by Ana");
    check("password reset is now possible");
    check("passwords are now rotated every 90 days");
    check("the password will be e-mailed");
    check("the token was changed to v2.4.0-rc1");
    check("Passwort lautet anders");
    check("Das Passwort wurde geändert");
    check("Das Passwort wurde auf Wunsch gesetzt");
    check("Mot de passe oublié ?");
    check("Mot de passe : obligatoire");
    check("le mot de passe est invalide");
    check("La contraseña es obligatoria");
    check("il passe : 4711 fois");
    check("пароль: обязательно");
    check("введите пароль");
    check("密码：必填");
}
