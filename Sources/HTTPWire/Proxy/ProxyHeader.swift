/// The header that a proxy sends before the first request of a connection: the PROXY protocol, specified by HAProxy.
///
/// Version 1 (section 2.1) is a line of text, parsed in `ProxyHeader+Text.swift`. Version 2 (section 2.2) is binary:
///
/// ```
/// 12 bytes   signature
///  1 byte    version (2), command (0 LOCAL, 1 PROXY)
///  1 byte    address family (0 none, 1 IPv4, 2 IPv6, 3 Unix), transport (0 none, 1 stream, 2 datagram)
///  2 bytes   length of the rest, the most significant byte first
///            source address, destination address, source port, destination port; then type-length-value fields
/// ```
public struct ProxyHeader: Sendable, Hashable {
    /// The versions of the protocol.
    public enum Version: String, Sendable, Hashable, CaseIterable {
        /// Text.
        case one = "v1"
        /// Binary.
        case two = "v2"
    }

    /// The address of the client; nil for the proxy's own connections (LOCAL), for clients of a Unix-domain socket, and
    /// if the proxy does not know it (UNKNOWN).
    public let source: IPEndpoint?

    /// The result of parsing the first bytes of a connection.
    public enum Result: Sendable, Hashable {
        /// The header is incomplete.
        case needMore
        /// A header and its size in bytes.
        case header(ProxyHeader, size: Int)
        /// The bytes are not a header; with the reason.
        case malformed(String)
    }

    /// The maximum number of bytes after the first 16. Addresses take 36 or 216 bytes, the usual fields about a
    /// hundred.
    public static let longestRest = 4096

    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]

    /// Parses a header from the bytes of a connection received so far. Reports malformed bytes as early as possible.
    public static func parse(_ bytes: UnsafeRawBufferPointer, _ version: Version) -> Result {
        switch version {
        case .one: parseText(bytes)
        case .two: parseBinary(bytes)
        }
    }

    private static func parseBinary(_ bytes: UnsafeRawBufferPointer) -> Result {
        let start = min(bytes.count, signature.count)
        guard bytes[..<start].elementsEqual(signature[..<start]) else {
            return .malformed("the connection does not start with a PROXY protocol header of version 2")
        }
        if bytes.count > 12, bytes[12] >> 4 != 2 || bytes[12] & 0xF > 1 {
            return .malformed("version and command are 0x\(String(bytes[12], radix: 16)): expected 0x20 or 0x21")
        }
        // The rest of a LOCAL header says nothing about a client and is skipped.
        let isLocal = bytes.count > 12 && bytes[12] & 0xF == 0
        if bytes.count > 13, !isLocal, bytes[13] >> 4 > 3 || bytes[13] & 0xF > 2 {
            return .malformed("address family and transport are 0x\(String(bytes[13], radix: 16))")
        }
        guard bytes.count >= 16 else { return .needMore }
        let length = Int(bytes[14]) << 8 | Int(bytes[15])
        guard length <= longestRest else {
            return .malformed("it is \(16 + length) bytes long: expected at most \(16 + longestRest)")
        }
        let addresses = addressBytes(of: bytes[13])
        guard isLocal || length >= addresses else {
            return .malformed("its addresses need \(addresses) bytes, and it has \(length)")
        }
        guard bytes.count >= 16 + length else { return .needMore }
        guard !isLocal else { return .header(ProxyHeader(source: nil), size: 16 + length) }
        let rest = UnsafeRawBufferPointer(rebasing: bytes[16..<16 + length])
        guard fieldsAreWhole(rest, from: addresses) else {
            return .malformed("a type-length-value field is longer than the header")
        }
        return .header(ProxyHeader(source: source(rest, kind: bytes[13])), size: 16 + length)
    }

    /// The size of the addresses of a family in bytes.
    private static func addressBytes(of kind: UInt8) -> Int {
        switch kind >> 4 {
        case 1: 12
        case 2: 36
        case 3: 216
        default: 0
        }
    }

    /// The client's address, for stream connections over IP.
    private static func source(_ rest: UnsafeRawBufferPointer, kind: UInt8) -> IPEndpoint? {
        let (size, port): (Int, Int)
        switch kind {
        case 0x11: (size, port) = (4, 8)
        case 0x21: (size, port) = (16, 32)
        default: return nil
        }
        guard rest.count >= port + 2 else { return nil }
        return IPAddress(bytes: Array(rest[..<size])).map {
            IPEndpoint(address: $0, port: UInt16(rest[port]) << 8 | UInt16(rest[port + 1]))
        }
    }

    private static func fieldsAreWhole(_ rest: UnsafeRawBufferPointer, from start: Int) -> Bool {
        // Without an address family, the rest need not consist of fields.
        guard start > 0 else { return true }
        var index = start
        while index < rest.count {
            guard rest.count - index >= 3 else { return false }
            index += 3 + (Int(rest[index + 1]) << 8 | Int(rest[index + 2]))
        }
        return index == rest.count
    }
}
