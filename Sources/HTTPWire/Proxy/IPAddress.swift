internal import Glibc

/// An IPv4 or IPv6 address. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, RFC 4291 section 2.5.5.2) equals the IPv4
/// address.
public struct IPAddress: Sendable, Hashable {
    /// 4 or 16 bytes, the most significant first.
    let bytes: [UInt8]

    /// An address from 4 or 16 bytes; nil for other numbers of bytes.
    init?(bytes: [UInt8]) {
        switch bytes.count {
        case 4: self.bytes = bytes
        case 16: self.bytes = bytes.starts(with: Self.mappedPrefix) ? Array(bytes.suffix(4)) : bytes
        default: return nil
        }
    }

    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// The maximum length of an address as text.
    private static let longest = 45

    /// Parses `192.0.2.1` or `2001:db8::1`, without brackets, port and zone.
    public init?(parsing text: some StringProtocol) {
        guard text.utf8.count <= Self.longest else { return nil }
        let text = String(text)
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(bytes: withUnsafeBytes(of: &four) { Array($0) })
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        self.init(bytes: withUnsafeBytes(of: &six) { Array($0) })
    }
}

extension IPAddress: CustomStringConvertible {
    /// The standard form: `192.0.2.1`, `2001:db8::1`.
    public var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// An address with an optional port.
public struct IPEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// The address.
    public let address: IPAddress
    /// The port; nil if it is not known.
    public let port: UInt16?

    init(address: IPAddress, port: UInt16?) {
        self.address = address
        self.port = port
    }

    /// Parses `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
    public init?(parsing text: some StringProtocol) {
        let host: Substring, rest: Substring
        let text = Substring(text)
        if text.utf8.first == ASCII.leftBracket {
            guard let end = text.firstIndex(of: "]") else { return nil }
            (host, rest) = (text[text.index(after: text.startIndex)..<end], text[text.index(after: end)...])
        } else if text.utf8.count(where: { $0 == ASCII.colon }) == 1, let colon = text.firstIndex(of: ":") {
            (host, rest) = (text[..<colon], text[colon...])
        } else {
            (host, rest) = (text, "")
        }
        // A link-local address may include its interface (RFC 4007 section 11).
        guard let address = IPAddress(parsing: host.prefix { $0 != "%" }) else { return nil }
        var port: UInt16?
        if !rest.isEmpty {
            let digits = rest.dropFirst()
            guard rest.utf8.first == ASCII.colon, !digits.isEmpty, digits.utf8.allSatisfy(ASCII.isDigit),
                let number = UInt16(digits)
            else { return nil }
            port = number
        }
        self.init(address: address, port: port)
    }

    /// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `[2001:db8::1]:80`.
    public var description: String {
        guard let port else { return address.description }
        return address.bytes.count == 4 ? "\(address):\(port)" : "[\(address)]:\(port)"
    }
}

/// A range of addresses (CIDR, RFC 4632): `10.0.0.0/8`, `2001:db8::/32`, or a single address.
public struct IPNetwork: Sendable, Hashable {
    private let address: IPAddress
    private let prefix: Int

    /// Parses `ADDRESS` or `ADDRESS/BITS`; bits after the prefix are ignored.
    public init?(parsing text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(parsing: first) else { return nil }
        self.address = address
        let bits = address.bytes.count * 8
        guard parts.count == 2 else {
            prefix = bits
            return
        }
        // The prefix of a mapped IPv4 address counts the bits of its IPv6 form.
        let written = first.contains(":") && bits == 32 ? 96 : 0
        guard parts[1].utf8.allSatisfy(ASCII.isDigit), let number = Int(parts[1]),
            (written...bits + written).contains(number)
        else { return nil }
        prefix = number - written
    }

    /// True if the address is in the range. IPv6 ranges contain no IPv4 addresses.
    public func contains(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        let whole = prefix / 8, rest = prefix % 8
        guard address.bytes.prefix(whole) == other.bytes.prefix(whole) else { return false }
        guard rest > 0 else { return true }
        return (address.bytes[whole] ^ other.bytes[whole]) >> UInt8(8 - rest) == 0
    }
}
