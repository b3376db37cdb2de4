import HTTPServer
import Testing

@Suite("Listener addresses")
struct ListenerAddressTests {
    @Test(
        "valid listener addresses are parsed",
        arguments: [
            ("127.0.0.1:8080", ListenerAddress.tcp(host: "127.0.0.1", port: 8080)),
            ("localhost:0", .tcp(host: "localhost", port: 0)),
            ("[::1]:8080", .tcp(host: "::1", port: 8080)),
            (":65535", .tcp(host: "", port: 65535)),
            ("*:80", .tcp(host: "", port: 80)),
            ("unix:/run/x.sock", .unix(path: "/run/x.sock", mode: 0o660, owner: nil)),
            ("unix:/run/x.sock?mode=0666", .unix(path: "/run/x.sock", mode: 0o666, owner: nil)),
            ("unix:x?owner=www:www&mode=600", .unix(path: "x", mode: 0o600, owner: "www:www")),
            ("systemd", .systemd),
            ("systemd:admin", .systemdNamed("admin")),
        ])
    func valid(text: String, expected: ListenerAddress) {
        #expect(ListenerAddress(parsing: text) == expected)
    }

    @Test(
        "invalid listener addresses are refused",
        arguments: [
            "", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+80", "::1:8080",
            "[]:80", "[::1:80", "http://x:80", "a b:80", "unix:", "unix:x?mode=9", "unix:x?mode=10000",
            "unix:x?owner=", "unix:x?what=1", "systemd:",
        ])
    func invalid(text: String) {
        #expect(ListenerAddress(parsing: text) == nil)
    }
}
