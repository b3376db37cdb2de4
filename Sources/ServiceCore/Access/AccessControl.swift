package import HTTPWire
internal import JSON
package import ServicePlanning
package import Settings
package import SystemSupport
package import WireFormats

/// Decides whether a request may pass, by its bearer token (RFC 6750).
package struct AccessControl: Sendable {
    /// The accepted tokens; nil if no token is required.
    private let entries: [TokenFile.Entry]?

    /// Accepts every request.
    package static let open = AccessControl(entries: nil)

    private init(entries: [TokenFile.Entry]?) { self.entries = entries }

    /// True if a token is required.
    package var hasTokens: Bool { entries != nil }

    package init(_ file: TokenFile) { self.init(entries: file.entries) }

    /// The access control of some settings. Reads the tokens file: blocks. `warn` gets its warnings.
    package static func configured(by settings: Settings, warn: (String) -> Void) throws(CommandError) -> AccessControl
    {
        guard !settings.tokensFile.isEmpty else { return .open }
        let file = TokenFile(path: settings.tokensFile)
        guard file.problems.isEmpty else {
            throw CommandError(file.problems.joined(separator: "; "), isConfiguration: true)
        }
        for warning in file.warnings { warn(warning) }
        return AccessControl(file)
    }

    /// Refuses a request without a token that grants access.
    /// - Parameters:
    ///   - requiredClass: the class of the route; nil for a route that is open to all.
    ///   - takesPassword: whether the token may come as the password of Basic authentication (RFC 7617), too.
    /// - Returns: the token, without the scheme of its field; nil if none is required.
    /// - Throws: `unauthorized` for a missing, malformed or unknown token; `forbidden` for one without the class.
    @discardableResult
    package func check(
        _ head: RequestHead, _ requiredClass: AccessClass?, takesPassword: Bool = false
    ) throws(ServiceError) -> [UInt8]? {
        guard let entries, let requiredClass else { return nil }
        let fields = head.values(of: "authorization")
        guard fields.count == 1, let field = fields.first else {
            throw ServiceError(
                .unauthorized,
                "a token is required: send \"Authorization: Bearer TOKEN\"")
        }
        let given = try Self.token(in: field, takesPassword: takesPassword)
        // Compare every token, even after a match: the time then reveals neither which token matches nor how much of
        // it.
        var classes: Set<AccessClass> = []
        var isKnown = false
        for entry in entries where Self.isEqual(given, entry.token) {
            isKnown = true
            classes.formUnion(entry.classes)
        }
        guard isKnown else {
            throw ServiceError(.unauthorized, "unknown token: tokens_file of this server has the known ones")
        }
        guard classes.contains(requiredClass) else {
            throw ServiceError(
                .forbidden,
                "the token does not grant access to this route: it needs the class \"\(requiredClass.rawValue)\"")
        }
        return given
    }

    /// The token in an Authorization field.
    private static func token(in field: String, takesPassword: Bool) throws(ServiceError) -> [UInt8] {
        let parts = field.split(separator: " ", omittingEmptySubsequences: true)
        if parts.count == 2 {
            switch parts[0].lowercased() {
            case "bearer": return Array(parts[1].utf8)
            case "basic" where takesPassword:
                // The user may be any name without a colon; the password may have some.
                let pair = Array(parts[1].utf8).withUnsafeBytes { Base64.decode($0) } ?? []
                if let colon = pair.firstIndex(of: UInt8(ascii: ":")) { return Array(pair[(colon + 1)...]) }
            default: break
            }
        }
        throw ServiceError(
            .unauthorized,
            "the Authorization field is not of the form \"Bearer TOKEN\""
                + (takesPassword ? ", nor Basic with the token as password" : ""))
    }

    /// True if two byte strings are equal, in a time that depends on their lengths only.
    static func isEqual(_ given: [UInt8], _ expected: [UInt8]) -> Bool {
        var difference: UInt8 = given.count == expected.count ? 0 : 1
        for index in expected.indices {
            difference |= expected[index] ^ (index < given.count ? given[index] : 0xFF)
        }
        return difference == 0
    }
}
