internal import JSON
package import SystemSupport

/// The hub, and what the environment says about the way to it: pure rules for the server, the token, redirects and
/// proxies.
package struct HubAccess: Sendable {
    /// The hub; its path is the beginning of all paths.
    package let endpoint: WebAddress
    /// `HF_TOKEN`; nil without a token.
    private let token: String?
    /// The proxy for plain HTTP; nil for none.
    private let plainProxy: String?
    /// A file and a folder of trusted certificates.
    let certificateFile: String?, certificateFolder: String?
    /// The time in seconds without progress that ends a request.
    let stallSeconds: Int

    private static let usual = "https://huggingface.co", usualStall = 20

    /// - Throws: a mistake in the environment.
    package init(environment: [String: String]) throws(CommandError) {
        func value(_ names: String...) -> String? { names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } }
        let text = value("HF_ENDPOINT") ?? Self.usual
        guard let address = WebAddress(text), address.query == nil, address.credentials == nil else {
            throw CommandError(
                "HF_ENDPOINT is not the address of a hub: expected one such as https://huggingface.co, without user and query",
                isConfiguration: true)
        }
        var path = address.path
        while path.hasSuffix("/") { path.removeLast() }
        endpoint = address.with(path: path)
        token = value("HF_TOKEN").map { text in
            let trimmed = text.split(whereSeparator: \.isWhitespace)
            return trimmed.count == 1 ? String(trimmed[0]) : text
        }
        if let token, !token.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) {
            throw CommandError("HF_TOKEN has a character that no token has", isConfiguration: true)
        }
        // libcurl reads the name in capitals for all but plain HTTP, where a web server's CGI programs get it from
        // clients.
        plainProxy =
            value("http_proxy") ?? (environment["REQUEST_METHOD"] == nil ? value("HTTP_PROXY") : nil)
            ?? value("all_proxy", "ALL_PROXY")
        certificateFile = value("SSL_CERT_FILE")
        certificateFolder = value("SSL_CERT_DIR")
        stallSeconds =
            value("HF_HUB_DOWNLOAD_TIMEOUT").flatMap { Double($0) }.flatMap { seconds in
                seconds > 0 && seconds <= 3600 ? max(1, Int(seconds.rounded())) : nil
            } ?? Self.usualStall
    }

    // MARK: Addresses

    /// The address that lists a repository's files.
    package func listing(of repository: String, revision: String) -> WebAddress {
        endpoint.with(
            path: "\(endpoint.path)/api/models/\(repository)/revision/\(PercentEncoding.encode(revision))",
            query: "blobs=true")
    }

    /// The address of a file at a commit.
    package func file(_ path: String, of repository: String, commit: String) -> WebAddress {
        endpoint.with(
            path: "\(endpoint.path)/\(repository)/resolve/\(commit)/\(PercentEncoding.encode(path, keeping: "/"))")
    }

    /// The address of a repository for people and records.
    package func page(of repository: String) -> WebAddress { endpoint.with(path: "\(endpoint.path)/\(repository)") }

    // MARK: Rules

    /// True if a request that began at `start` may be sent to `next`: to https, or to plain HTTP if the endpoint itself
    /// is asked by it.
    package func allows(redirectOf start: WebAddress, to next: WebAddress) -> Bool {
        next.scheme == "https" || start.scheme == "http" && endpoint.scheme == "http"
    }

    /// The `Authorization` of a request: the token for the endpoint itself, the user of the address that was asked for;
    /// nil for all other servers.
    /// - Parameter start: the address before any redirect.
    package func authorization(for address: WebAddress, start: WebAddress) -> String? {
        guard address.scheme == "https" || address.isLoopback else { return nil }
        if address.origin == start.origin, let credentials = start.credentials.flatMap({ PercentEncoding.decode($0) }) {
            var text: [UInt8] = []
            Array(credentials.utf8).withUnsafeBytes { Base64.append($0, to: &text) }
            return "Basic " + String(decoding: text, as: UTF8.self)
        }
        guard address.origin == endpoint.origin, let token else { return nil }
        return "Bearer " + token
    }

    /// True if there is a token, and the endpoint never gets it.
    package var keepsTokenBack: Bool { token != nil && endpoint.scheme == "http" && !endpoint.isLoopback }

    /// True if requests to the endpoint have the token.
    package var sendsToken: Bool { token != nil && !keepsTokenBack }

    /// The proxy for an address, and the hosts that need none; nil for those that libcurl reads from the environment
    /// itself.
    package func proxy(for address: WebAddress) -> (proxy: String?, without: String?) {
        guard address.scheme == "http", let plainProxy else { return (nil, nil) }
        // A proxy elsewhere would read the token, and cannot reach this machine by that name.
        if address.isLoopback, !Self.isOnThisMachine(plainProxy) { return (nil, "*") }
        return (plainProxy, nil)
    }

    private static func isOnThisMachine(_ proxy: String) -> Bool {
        let place = proxy.range(of: "://").map { String(proxy[$0.upperBound...]) } ?? proxy
        return WebAddress("http://" + place)?.isLoopback ?? false
    }

    // MARK: Secrets

    /// A text without the token, which a server might send back.
    package func hidingSecrets(_ text: String) -> String {
        guard let token, token.utf8.count >= 4, text.contains(token) else { return text }
        return text.split(separator: token, omittingEmptySubsequences: false).joined(separator: "(token)")
    }

    /// True if a text has the token in it.
    package func hasSecret(_ text: String) -> Bool { token.map { $0.utf8.count >= 4 && text.contains($0) } ?? false }
}

extension String {
    /// The place of the first occurrence of a text.
    fileprivate func range(of text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) {
                return start..<(index(start, offsetBy: text.count, limitedBy: endIndex) ?? endIndex)
            }
            start = index(after: start)
        }
        return nil
    }
}
