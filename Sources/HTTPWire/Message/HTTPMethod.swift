/// A request method (RFC 9110 section 9): a case-sensitive token, registered or not.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The method as received, for example `"GET"`.
    public let rawValue: String

    /// A method of any name. The parser creates only methods with a token as their name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The method as received.
    public var description: String { rawValue }

    /// `GET`, RFC 9110 section 9.3.1.
    public static var get: HTTPMethod { HTTPMethod(rawValue: "GET") }
    /// `HEAD`, RFC 9110 section 9.3.2.
    public static var head: HTTPMethod { HTTPMethod(rawValue: "HEAD") }
    /// `POST`, RFC 9110 section 9.3.3.
    public static var post: HTTPMethod { HTTPMethod(rawValue: "POST") }
    /// `PUT`, RFC 9110 section 9.3.4.
    public static var put: HTTPMethod { HTTPMethod(rawValue: "PUT") }
    /// `DELETE`, RFC 9110 section 9.3.5.
    public static var delete: HTTPMethod { HTTPMethod(rawValue: "DELETE") }
    /// `CONNECT`, RFC 9110 section 9.3.6: never accepted by the parser.
    public static var connect: HTTPMethod { HTTPMethod(rawValue: "CONNECT") }
    /// `OPTIONS`, RFC 9110 section 9.3.7.
    public static var options: HTTPMethod { HTTPMethod(rawValue: "OPTIONS") }
    /// `TRACE`, RFC 9110 section 9.3.8.
    public static var trace: HTTPMethod { HTTPMethod(rawValue: "TRACE") }
    /// `PATCH`, RFC 5789.
    public static var patch: HTTPMethod { HTTPMethod(rawValue: "PATCH") }
}
