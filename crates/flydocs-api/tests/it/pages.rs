//! Page images.

use crate::house::House;

#[tokio::test]
async fn a_page_is_a_png_of_the_asked_width() {
    let house = House::new().await;
    let id = house.submitted().await;
    let reply = house
        .get(&format!(
            "/api/v1/extractions/{id}/files/0/pages/1.png?width=300"
        ))
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("image/png"));
    assert_eq!(&reply.body[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(reply.body[16..20], 300_u32.to_be_bytes());
}

#[tokio::test]
async fn what_is_not_there_is_404_and_what_is_too_wide_is_400() {
    let house = House::new().await;
    let id = house.submitted().await;
    for (place, status, code) in [
        ("0/pages/2.png", 404, "not_found"),
        ("0/pages/0.png", 404, "not_found"),
        ("1/pages/1.png", 404, "not_found"),
        ("0/pages/1.jpg", 404, "not_found"),
        ("x/pages/1.png", 404, "not_found"),
        ("0/pages/1.png?width=2001", 400, "invalid_request"),
        ("0/pages/1.png?width=0", 400, "invalid_request"),
    ] {
        let reply = house
            .get(&format!("/api/v1/extractions/{id}/files/{place}"))
            .await;
        assert_eq!(reply.status, status, "{place}");
        reply.problem(code);
    }
}
