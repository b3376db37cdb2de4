internal import CCurl
internal import SystemSupport

/// libcurl of the distribution, opened when it is needed: it knows TLS, certificates and proxies. For one thread.
final class CurlSession {
    private let curl: OpaquePointer

    /// OpenSSL's flavour, and GnuTLS' of Debian.
    private static let libraries = ["libcurl.so.4", "libcurl-gnutls.so.4"]
    private static let connectSeconds = 20
    /// Less than this in each second counts as no progress, in bytes.
    private static let stallBytes = 16

    /// - Throws: what to install, if the library is missing.
    init() throws(CommandError) {
        var reason = [CChar](repeating: 0, count: 300)
        let opened = withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>.self, capacity: Self.libraries.count) {
            names in
            let copies = Self.libraries.map { Self.copy($0) }
            defer { for copy in copies { copy.deallocate() } }
            _ = names.initialize(from: copies.map { UnsafePointer($0) })
            return names.baseAddress.flatMap { ccurl_open($0, names.count, &reason, reason.count) }
        }
        guard let opened else {
            throw CommandError(
                "`ocelli pull` needs libcurl: install the package libcurl4 or libcurl3-gnutls (\(Self.text(reason)))")
        }
        curl = opened
    }

    deinit { ccurl_close(curl) }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func copy(_ text: String) -> UnsafeMutablePointer<CChar> {
        let bytes = text.utf8CString
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        for (index, byte) in bytes.enumerated() { (copy + index).initialize(to: byte) }
        return copy
    }

    /// The result of a request.
    struct Result {
        let answer: HubAnswer
        /// libcurl's code: 0 for a complete answer.
        let code: Int
        /// libcurl's words for the code.
        let reason: String

        /// No progress for the whole time.
        var isStalled: Bool { code == 28 }
        /// The receiver wanted no more, or the head is too large.
        var isRefusedByReceiver: Bool { code == 23 }

        /// True if the same request may succeed in a while: the connection could not be made, or broke.
        var isPassing: Bool { [5, 7, 16, 18, 28, 52, 55, 56, 92].contains(code) }
    }

    /// The context of the C functions: the answer so far, and the receiver of its body.
    private final class Exchange {
        var answer = HubAnswer()
        var hasLargeHead = false
        let take: (HubAnswer, UnsafeRawBufferPointer) -> Bool

        init(take: @escaping (HubAnswer, UnsafeRawBufferPointer) -> Bool) { self.take = take }
    }

    /// Performs a request. Blocks. Follows no redirect.
    /// - Parameter take: called with each piece of the body; returns false to end the request.
    func perform(
        _ address: WebAddress, fields: [String], isHead: Bool, access: HubAccess,
        take: @escaping (HubAnswer, UnsafeRawBufferPointer) -> Bool
    ) -> Result {
        let exchange = Exchange(take: take)
        let (proxy, without) = access.proxy(for: address)
        let texts = [address.requested, access.certificateFile, access.certificateFolder, proxy, without].map {
            $0.map(Self.copy)
        }
        let lines = fields.map { UnsafePointer(Self.copy($0)) as UnsafePointer<CChar>? }
        defer {
            for text in texts { text?.deallocate() }
            for line in lines { line?.deallocate() }
        }
        guard let url = texts[0] else { return Result(answer: exchange.answer, code: 27, reason: "out of memory") }
        var status = 0
        var reason = [CChar](repeating: 0, count: 300)
        let code = lines.withUnsafeBufferPointer { lines -> Int32 in
            guard let first = lines.baseAddress else { return 27 }
            var request = ccurl_request(
                url: url, headers: first, header_count: lines.count, certificate_file: texts[1],
                certificate_folder: texts[2], proxy: texts[3], no_proxy: texts[4],
                allows_http: address.scheme == "http",
                is_head: isHead, connect_seconds: Self.connectSeconds, stall_seconds: access.stallSeconds,
                stall_bytes: Self.stallBytes,
                take_header: { bytes, size, count, context in
                    guard let context else { return 0 }
                    let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
                    let line = UnsafeRawBufferPointer(start: bytes, count: size &* count)
                    guard exchange.answer.take(line) else {
                        exchange.hasLargeHead = true
                        return 0
                    }
                    return size &* count
                },
                take_body: { bytes, size, count, context in
                    guard let context else { return 0 }
                    let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
                    let piece = UnsafeRawBufferPointer(start: bytes, count: size &* count)
                    return exchange.take(exchange.answer, piece) ? size &* count : 0
                }, context: Unmanaged.passUnretained(exchange).toOpaque())
            return withExtendedLifetime(exchange) { ccurl_perform(curl, &request, &status, &reason, reason.count) }
        }
        let words = exchange.hasLargeHead ? "its head has more than \(HubAnswer.largest) bytes" : Self.text(reason)
        return Result(answer: exchange.answer, code: exchange.hasLargeHead ? 100 : Int(code), reason: words)
    }
}
