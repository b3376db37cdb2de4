internal import CSystem
internal import HTTPServer
internal import HTTPWire

/// The page at `/`: index.html and its scripts beside this file, which the build embeds in the program; nothing from
/// elsewhere.
enum Page {
    /// The page with its own nonce. Only the script and the styles that carry it run; a picture's name or a label that
    /// tried to bring others along would be text.
    /// - Parameter teaches: whether the daemon has a folder for taught models: the part for teaching is shown then.
    static func response(teaches: Bool) -> HTTPResponse {
        let nonce = fixedWidth(csys_random()) + fixedWidth(csys_random())
        return HTTPResponse(
            status: .ok,
            fields: [
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Security-Policy", policy(nonce)),
                ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                // Kept with its nonce, and asked for again each time: the answer is often 304.
                ("Cache-Control", "private, no-cache"),
            ],
            body: Array((teaches ? teaching : parts).joined(separator: nonce.utf8)))
    }

    private static func policy(_ nonce: String) -> String {
        [
            "default-src 'none'", "script-src 'nonce-\(nonce)'", "style-src 'nonce-\(nonce)'", "img-src blob: data:",
            "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ].joined(separator: "; ")
    }

    /// The page and its policy without the nonce, which differs each time.
    static func content(teaches: Bool) -> [UInt8] { (teaches ? teaching : parts).joined() + Array(policy("").utf8) }

    /// The same length for all, so that HEAD tells the length that GET will have.
    private static func fixedWidth(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// index.html with its scripts in it, split at the places of the nonce, for which it has `NONCE`.
    private static let parts = page(teaches: false)
    private static let teaching = page(teaches: true)

    private static func page(teaches: Bool) -> [ArraySlice<UInt8>] {
        var page = PackageResources.index_html
        if let range = page.firstRange(of: Array("TEACHES".utf8)) {
            page.replaceSubrange(range, with: Array("\(teaches)".utf8))
        }
        for (name, script) in scripts {
            guard let range = page.firstRange(of: Array(#" src="\#(name)">"#.utf8)) else { continue }
            page.replaceSubrange(range, with: Array(">\n".utf8) + script)
        }
        let mark = Array("NONCE".utf8)
        var parts: [ArraySlice<UInt8>] = []
        var start = 0
        while let range = page[start...].firstRange(of: mark) {
            parts.append(page[start..<range.lowerBound])
            start = range.upperBound
        }
        return parts + [page[start...]]
    }

    /// The scripts that index.html loads where it is opened as a file.
    private static let scripts = [
        ("ask.js", PackageResources.ask_js), ("drawing.js", PackageResources.drawing_js),
        ("input.js", PackageResources.input_js), ("models.js", PackageResources.models_js),
        ("teach.js", PackageResources.teach_js),
    ]
}
