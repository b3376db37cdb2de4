/// A version of HTTP (RFC 9110 section 2.5). The parser creates only versions with major number 1.
public struct HTTPVersion: Hashable, Sendable, Comparable, CustomStringConvertible, BitwiseCopyable {
    /// The first digit.
    public let major: UInt8
    /// The second digit. Minor versions above 1 are treated as 1.1 (RFC 9110 section 2.5).
    public let minor: UInt8

    /// The version `major.minor`, with one digit each.
    public init(major: UInt8, minor: UInt8) {
        self.major = major
        self.minor = minor
    }

    /// HTTP/1.0.
    public static var http10: HTTPVersion { HTTPVersion(major: 1, minor: 0) }
    /// HTTP/1.1.
    public static var http11: HTTPVersion { HTTPVersion(major: 1, minor: 1) }

    /// Orders by major version, then by minor version.
    public static func < (one: HTTPVersion, other: HTTPVersion) -> Bool {
        (one.major, one.minor) < (other.major, other.minor)
    }

    /// The version in the format of a request line: `HTTP/1.1`.
    public var description: String { "HTTP/\(major).\(minor)" }
}
