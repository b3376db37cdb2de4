internal import CSystem
internal import HTTPServer
internal import HTTPWire

/// The page at `/`: one file, nothing from elsewhere.
enum Page {
    /// The page with a nonce of its own. Only the script and the styles that carry it run; a picture's name or a label that
    /// tried to bring others along would be text.
    static var response: HTTPResponse {
        let nonce = fixedWidth(csys_random()) + fixedWidth(csys_random())
        let policy = [
            "default-src 'none'", "script-src 'nonce-\(nonce)'", "style-src 'nonce-\(nonce)'", "img-src blob: data:",
            "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ]
        return HTTPResponse(
            status: .ok,
            fields: [
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Security-Policy", policy.joined(separator: "; ")),
                ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                // The nonce is for one time.
                ("Cache-Control", "no-store"),
            ],
            body: before + Array(nonce.utf8) + between + Array(nonce.utf8) + after)
    }

    /// The same length for all, so that HEAD tells the length that GET will have.
    private static func fixedWidth(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    // The two places of the nonce, found once.
    private static let parts = PageText.html.split(separator: "NONCE", omittingEmptySubsequences: false)
    private static let before = part(0), between = part(1), after = part(2)

    private static func part(_ index: Int) -> [UInt8] {
        index < parts.count ? Array(parts[index].utf8) : []
    }
}
