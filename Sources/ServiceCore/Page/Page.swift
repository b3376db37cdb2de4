internal import CSystem
package import HTTPServer
internal import HTTPWire

/// The page at `/`: index.html and its scripts in this folder, which the build embeds in the program; it loads nothing
/// from other hosts.
package enum Page {
    /// The optional parts of the page.
    package struct Form: Sendable, Hashable {
        /// True with the part for teaching: the daemon has a folder for taught models.
        let teaches: Bool
        /// True with the kept pictures: the daemon has a folder for them.
        let keeps: Bool

        package init(teaches: Bool, keeps: Bool) {
            self.teaches = teaches
            self.keeps = keeps
        }

        /// All forms.
        package static let all = [false, true].flatMap { teaches in
            [false, true].map { Form(teaches: teaches, keeps: $0) }
        }
    }

    /// The page with a fresh nonce. Only scripts and styles with the nonce run; markup in a picture's name or in a
    /// label has no effect.
    package static func response(_ form: Form) -> HTTPResponse {
        let nonce = fixedWidth(csys_random()) + fixedWidth(csys_random())
        return HTTPResponse(
            status: .ok,
            fields: [
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Security-Policy", policy(nonce)),
                ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                // Cached with its nonce, and revalidated each time: the answer is often 304.
                ("Cache-Control", "private, no-cache"),
            ],
            body: Array((pages[form] ?? []).joined(separator: nonce.utf8)))
    }

    private static func policy(_ nonce: String) -> String {
        [
            "default-src 'none'", "script-src 'nonce-\(nonce)'", "style-src 'nonce-\(nonce)'", "img-src blob: data:",
            "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ].joined(separator: "; ")
    }

    /// The page and its policy without the nonce, which differs each time.
    package static func content(_ form: Form) -> [UInt8] {
        (pages[form] ?? []).joined() + Array(policy("").utf8)
    }

    /// Hexadecimal digits of a fixed length, so that HEAD gives the length of GET.
    private static func fixedWidth(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// index.html with its scripts inserted, split at the places of the nonce, which are marked `NONCE`.
    private static let pages = Dictionary(uniqueKeysWithValues: Form.all.map { ($0, page($0)) })

    private static func page(_ form: Form) -> [ArraySlice<UInt8>] {
        var page = PackageResources.index_html
        for (mark, value) in [("TEACHES", form.teaches), ("KEEPS", form.keeps)] {
            guard let range = page.firstRange(of: Array(mark.utf8)) else { continue }
            page.replaceSubrange(range, with: Array("\(value)".utf8))
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

    /// The scripts that index.html loads when it is opened as a file.
    private static let scripts = [
        ("ask.js", PackageResources.ask_js), ("drawing.js", PackageResources.drawing_js),
        ("input.js", PackageResources.input_js), ("models.js", PackageResources.models_js),
        ("teach.js", PackageResources.teach_js), ("drift.js", PackageResources.drift_js),
        ("kept.js", PackageResources.kept_js),
    ]
}
