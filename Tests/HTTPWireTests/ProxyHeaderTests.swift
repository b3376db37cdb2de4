import Foundation
import HTTPWire
import TestSupport
import Testing

/// Headers of the PROXY protocol, version 2, written by hand from its specification.
@Suite struct ProxyHeaderTests {
    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]

    private static func header(_ command: UInt8, _ kind: UInt8, _ rest: [UInt8], length: Int? = nil) -> [UInt8] {
        let length = length ?? rest.count
        return signature + [command, kind, UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF)] + rest
    }

    private func parse(_ bytes: [UInt8]) -> ProxyHeader.Result { bytes.withUnsafeBytes { ProxyHeader.parse($0, .two) } }

    private static let four: [UInt8] = [203, 0, 113, 7, 192, 0, 2, 1, 0x12, 0x34, 0, 80]
    private static let six: [UInt8] =
        [0x20, 1, 0xD, 0xB8] + Array(repeating: 0, count: 11) + [7] + [0x20, 1, 0xD, 0xB8]
        + Array(repeating: 0, count: 11) + [1, 0x12, 0x34, 0, 80]

    @Test(
        "a PROXY v2 header gives the source address or none, and a cut header needs more bytes",
        arguments: [
            (header(0x21, 0x11, four), "203.0.113.7:4660"),
            (header(0x21, 0x21, six), "[2001:db8::7]:4660"),
            // Fields after the addresses: ALPN, and an empty one.
            (header(0x21, 0x11, four + [1, 0, 2, 0x68, 0x32, 4, 0, 0]), "203.0.113.7:4660"),
            (header(0x20, 0, []), "nobody"), (header(0x20, 0x11, four), "nobody"), (header(0x20, 0x11, [1]), "nobody"),
            (header(0x20, 0xFF, [1, 2]), "nobody"),
            (header(0x21, 0, []), "nobody"), (header(0x21, 0, [1, 2, 3]), "nobody"),
            (header(0x21, 0x31, Array(repeating: 0, count: 216)), "nobody"), (header(0x21, 0x12, four), "nobody"),
        ] as [([UInt8], String)])
    func proxyHeader_versionTwo_givesTheSource(bytes: [UInt8], source: String) {
        let following = Array("GET / HTTP/1.1\r\n".utf8)
        guard case .header(let header, let size) = parse(bytes + following) else {
            Issue.record("\(parse(bytes + following))")
            return
        }
        #expect(size == bytes.count)
        #expect(header.source?.description ?? "nobody" == source)
        for count in 0..<bytes.count {
            #expect(parse(Array(bytes[..<count])) == .needMore, "\(count) bytes")
        }
    }

    @Test(
        "a malformed PROXY v2 header is refused with a reason",
        arguments: [
            Array("GET / HTTP/1.1\r\n\r\n".utf8), Array("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n".utf8), [0],
            Array(signature.dropLast()) + [0], signature + [0x11], signature + [0x22], signature + [0x2F],
            signature + [0],
            signature + [0x21, 0x41], signature + [0x21, 0x13],
            header(0x21, 0x11, Array(four.dropLast())), header(0x21, 0x21, four), header(0x21, 0x31, six),
            header(0x21, 0x11, [], length: 65_535), header(0x21, 0x11, [], length: 4097),
            header(0x20, 0, [], length: 4097),
            header(0x21, 0x11, four + [1]), header(0x21, 0x11, four + [1, 0]), header(0x21, 0x11, four + [1, 0, 1]),
            header(0x21, 0x11, four + [1, 0xFF, 0xFF, 0]),
        ] as [[UInt8]])
    func proxyHeader_versionTwoMalformed_isRefused(bytes: [UInt8]) {
        guard case .malformed(let reason) = parse(bytes) else {
            Issue.record("\(parse(bytes))")
            return
        }
        #expect(!reason.isEmpty)
    }

    /// For any input: no trap, no header longer than the input, and further bytes never change a verdict.
    @Test("more bytes never change the verdict on a random PROXY v2 header")
    func randomBytesAreJudgedOnce() {
        let seed = SplitMix.seed(for: "PROXY headers")
        var random = SplitMix(seed: seed)
        for _ in 0..<20_000 {
            let count = Int(random.next() % 60)
            var bytes = Self.signature + (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            if bytes.count > 13, random.next() % 4 != 0 {
                bytes[12] = 0x20 | UInt8(random.next() % 2)
                bytes[13] = [0, 0x11, 0x21, 0x31, 0x12][Int(random.next() % 5)]
            }
            if bytes.count > 15, random.next() % 2 == 0 { (bytes[14], bytes[15]) = (0, UInt8(random.next() % 48)) }
            var verdict: ProxyHeader.Result?
            for end in 0...bytes.count {
                let result = parse(Array(bytes[..<end]))
                if let verdict {
                    guard case .malformed = verdict else {
                        #expect(result == verdict, "seed \(seed)")
                        continue
                    }
                    guard case .malformed = result else {
                        Issue.record("seed \(seed): \(verdict), then \(result)")
                        return
                    }
                } else if result != .needMore {
                    verdict = result
                    if case .header(_, let size) = result { #expect(size == end, "seed \(seed)") }
                }
            }
        }
    }
}

/// Lines of the PROXY protocol, version 1: those in the specification, and variants.
@Suite struct ProxyLineTests {
    private static let longSix = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"

    private func parse(_ bytes: [UInt8]) -> ProxyHeader.Result { bytes.withUnsafeBytes { ProxyHeader.parse($0, .one) } }

    @Test(
        "a PROXY v1 line gives the source address or none, and a cut line needs more bytes",
        arguments: [
            // The specification's example, and its longest lines with the lengths that it states.
            ("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443", "192.168.0.1:56324", 47),
            ("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535", "255.255.255.255:65535", 56),
            ("PROXY TCP6 \(longSix) \(longSix) 65535 65535", "[\(longSix)]:65535", 104),
            ("PROXY UNKNOWN", "nobody", 15), ("PROXY UNKNOWN \(longSix) \(longSix) 65535 65535", "nobody", 107),
            ("PROXY UNKNOWN ", "nobody", 16), ("PROXY UNKNOWN \u{0} 1.2.3 x", "nobody", 25),
            ("PROXY TCP6 2001:db8::7 2001:DB8::1 0 443", "[2001:db8::7]:0", 42),
            ("PROXY TCP6 :: ::1 1 2", "[::]:1", 23),
            // A mapped address is the IPv4 address.
            ("PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2", "192.0.2.1:1", 37),
        ])
    func proxyHeader_versionOne_givesTheSource(line: String, source: String, length: Int) {
        let bytes = Array("\(line)\r\n".utf8)
        #expect(bytes.count == length)
        for following in ["", "GET / HTTP/1.1\r\n", "\r\n"] {
            guard case .header(let header, let size) = parse(bytes + Array(following.utf8)) else {
                Issue.record("\(parse(bytes))")
                return
            }
            #expect(size == length && header.source?.description ?? "nobody" == source)
        }
        for count in 0..<bytes.count { #expect(parse(Array(bytes[..<count])) == .needMore, "\(count) bytes") }
    }

    @Test(
        "a malformed PROXY v1 line is refused with a reason",
        arguments: [
            "GET / HTTP/1.1\r\n\r\n", "\r\n", "proxy TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
            "PROXY  TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
            "PROXY\tTCP4 1.2.3.4 5.6.7.8 1 2\r\n", "PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n", "PROXY TCP5", "PROXY tcp4 ",
            "PROXY \r\n",
            "PROXY TCP4\r\n", "PROXY TCP4 \r\n", "PROXY TCP4 1.2.3.4\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n",
            "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n",
            "PROXY TCP4 1.2.3.4  5.6.7.8 1 2\r\n",
            "PROXY TCP4 1.2.3.4 5.6.7.8 1 65536\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n",
            "PROXY TCP4 1.2.3.4 5.6.7.8 1 00\r\n",
            "PROXY TCP4 1.2.3.4 5.6.7.8 +1 2\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 -1 2\r\n",
            "PROXY TCP4 1.2.3.4 5.6.7.8 1  2\r\n",
            "PROXY TCP4 01.2.3.4 5.6.7.8 1 2\r\n", "PROXY TCP4 1.2.3 5.6.7.8 1 2\r\n",
            "PROXY TCP4 1.2.3.256 5.6.7.8 1 2\r\n",
            "PROXY TCP4 1.2.3.4.5 5.6.7.8 1 2\r\n", "PROXY TCP4 0x1.2.3.4 5.6.7.8 1 2\r\n",
            "PROXY TCP4 1.2.3.4\u{0} 5.6.7.8 1 2\r\n",
            "PROXY TCP4 ::1 ::1 1 2\r\n", "PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n", "PROXY TCP6 ::1 1.2.3.4 1 2\r\n",
            "PROXY TCP6 :::1 ::1 1 2\r\n", "PROXY TCP6 ::1%lo ::1 1 2\r\n", "PROXY TCP6 [::1] ::1 1 2\r\n",
            "PROXY TCP6 1:2 ::1 1 2\r\n",
            "PROXY TCP6 12345::1 ::1 1 2\r\n", "PROXY TCP4 1.2.3.4 a.b 1 2\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n",
            "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\rG", "PROXY UNKNOWN\n", "PROXY UNKNOWN \nGET / HTTP/1.1\r\n",
            "PROXY UNKNOWNS\r\n",
            "PROXY UNKNOWN \(String(repeating: "x", count: 92))\r\n", "PROXY TCP4 \(String(repeating: "1", count: 96))",
            "PROXY UNKNOWN \(String(repeating: "x", count: 92))\r", "\r\n\r\n\u{0}\r\nQUIT\n",
        ])
    func proxyHeader_versionOneMalformed_isRefused(line: String) {
        guard case .malformed(let reason) = parse(Array(line.utf8)) else {
            Issue.record("\(parse(Array(line.utf8)))")
            return
        }
        #expect(!reason.isEmpty)
    }

    /// The source address of a line, read word by word; nil if it is malformed.
    private static func read(_ line: [UInt8]) -> String? {
        guard line.count <= 107, line.suffix(2) == [13, 10], !line.dropLast(2).contains(where: { $0 == 13 || $0 == 10 })
        else {
            return nil
        }
        let words = String(decoding: line.dropLast(2), as: UTF8.self).components(separatedBy: " ")
        if words.starts(with: ["PROXY", "UNKNOWN"]) { return "nobody" }
        guard words.count == 6, words[0] == "PROXY", ["TCP4", "TCP6"].contains(words[1]) else { return nil }
        let ports = words[4...].compactMap { word in UInt16(word).flatMap { "\($0)" == word ? $0 : nil } }
        guard ports.count == 2, let port = ports.first else { return nil }
        for address in words[2...3] {
            let numbers = address.components(separatedBy: ".").map { word in
                UInt8(word).flatMap { "\($0)" == word ? $0 : nil }
            }
            guard words[1] == "TCP4", numbers.count == 4, numbers.allSatisfy({ $0 != nil }) else { return nil }
        }
        return "\(words[2]):\(port)"
    }

    /// Random lines, and lines with a wrong byte: the result equals that of a word-by-word reading, for any split.
    @Test("a random PROXY v1 line has the source that a reading word by word finds, or is refused")
    func proxyHeader_randomLine_isParsedAsWritten() {
        let seed = SplitMix.seed(for: "PROXY lines")
        var random = SplitMix(seed: seed)
        func number(_ maximum: UInt64) -> String { String(random.next() % (maximum + 1)) }
        func address() -> String { (0..<4).map { _ in number(255) }.joined(separator: ".") }
        var accepted = 0
        for _ in 0..<20_000 {
            let isUnknown = random.next() % 8 == 0
            let text =
                isUnknown
                ? "PROXY UNKNOWN \(address())"
                : "PROXY TCP4 \(address()) \(address()) \(number(65_535)) \(number(65_535))"
            var line = Array("\(text)\r\n".utf8)
            let wrong = Array(" .:0123456789\r\nAPROXYTC4\u{0}~".utf8)
            let place = Int(random.next() % UInt64(line.count)), byte = wrong[Int(random.next() % UInt64(wrong.count))]
            switch random.next() % 4 {
            case 0: line[place] = byte
            case 1: line.insert(byte, at: place)
            case 2: line.remove(at: place)
            default: break
            }
            // Only lines with the line end at the end; an earlier line end is another case.
            let expected = Self.read(line)
            var verdict = ProxyHeader.Result.needMore
            for end in 0...line.count where verdict == .needMore {
                verdict = parse(Array(line[..<end]))
                if case .header(_, let size) = verdict { #expect(size == end, "seed \(seed)") }
            }
            switch verdict {
            case .header(let header, let size) where size == line.count:
                accepted += 1
                #expect(header.source?.description ?? "nobody" == expected, "seed \(seed): \(line)")
            case .header: break
            case .malformed, .needMore:
                #expect(expected == nil, "seed \(seed): \(String(decoding: line, as: UTF8.self))")
            }
        }
        #expect(accepted > 5000)
    }
}

/// The client reported by trusted proxies.
@Suite struct TrustedProxiesTests {
    private func head(_ fields: [String]) throws -> RequestHead {
        var parser = RequestParser(limits: WireLimits())
        let text = "GET / HTTP/1.1\r\nHost: x\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
        guard case .head(let head, _) = try Array(text.utf8).withUnsafeBytes({ try parser.parse($0) }) else {
            throw CancellationError()
        }
        return head
    }

    private static let proxies = ["127.0.0.1", "10.0.0.0/8", "2001:db8:1::/48", "unix"]

    @Test(
        "Forwarded and X-Forwarded-For name the client only where trusted proxies wrote them",
        arguments: [
            ("192.0.2.9:1", ["X-Forwarded-For: 203.0.113.7"], "192.0.2.9:1"),
            ("192.0.2.9:1", ["Forwarded: for=203.0.113.7"], "192.0.2.9:1"),
            ("127.0.0.1:1", [], "127.0.0.1:1"),
            ("127.0.0.1:1", ["X-Forwarded-For: 203.0.113.7"], "203.0.113.7"),
            ("[::ffff:127.0.0.1]:1", ["X-Forwarded-For: 203.0.113.7"], "203.0.113.7"),
            ("unix", ["X-Forwarded-For: 203.0.113.7"], "203.0.113.7"),
            ("[2001:db8:1::5]:1", ["X-Forwarded-For: 2001:db8:2::1"], "2001:db8:2::1"),
            ("[2001:db8:2::5]:1", ["X-Forwarded-For: 203.0.113.7"], "[2001:db8:2::5]:1"),
            // The last one that is not a trusted proxy; earlier ones may be forged.
            ("127.0.0.1:1", ["X-Forwarded-For: 1.1.1.1, 203.0.113.7, 10.1.2.3"], "203.0.113.7"),
            ("127.0.0.1:1", ["X-Forwarded-For: 1.1.1.1", "X-Forwarded-For: 203.0.113.7 ,10.1.2.3"], "203.0.113.7"),
            ("127.0.0.1:1", ["X-Forwarded-For: 10.0.0.1, 10.0.0.2"], "10.0.0.1"),
            ("127.0.0.1:1", ["X-Forwarded-For: 203.0.113.7:4242, [2001:db8:1::9]:80"], "203.0.113.7:4242"),
            // A hop that is not an address ends the search.
            ("127.0.0.1:1", ["X-Forwarded-For: 203.0.113.7, unknown"], "127.0.0.1:1"),
            ("127.0.0.1:1", ["X-Forwarded-For: 203.0.113.7, unknown, 10.0.0.1"], "10.0.0.1"),
            ("127.0.0.1:1", ["X-Forwarded-For: 203.0.113.7,"], "127.0.0.1:1"),
            ("127.0.0.1:1", ["X-Forwarded-For: 1.2.3"], "127.0.0.1:1"),
            ("127.0.0.1:1", ["X-Forwarded-For:"], "127.0.0.1:1"),
            ("127.0.0.1:1", ["X-Forwarded-For: 203.0.113.7:99999"], "127.0.0.1:1"),
            ("127.0.0.1:1", ["X-Forwarded-For: 203.0.113.7\" id=x"], "127.0.0.1:1"),
            ("127.0.0.1:1", ["Forwarded: for=203.0.113.7;proto=https;by=10.0.0.1"], "203.0.113.7"),
            ("127.0.0.1:1", ["Forwarded: For=\"[2001:db8:2::1]:4711\""], "[2001:db8:2::1]:4711"),
            ("127.0.0.1:1", ["Forwarded: for=1.1.1.1, for=203.0.113.7;host=\"a,b;c\", for=10.0.0.1"], "203.0.113.7"),
            ("127.0.0.1:1", ["Forwarded: for=203.0.113.7", "Forwarded: for=10.0.0.1"], "203.0.113.7"),
            ("127.0.0.1:1", ["Forwarded: for=203.0.113.7, for=_hidden"], "127.0.0.1:1"),
            ("127.0.0.1:1", ["Forwarded: for=203.0.113.7, proto=https"], "127.0.0.1:1"),
            ("127.0.0.1:1", ["Forwarded: for=203.0.113.7;for=203.0.113.8"], "127.0.0.1:1"),
            ("127.0.0.1:1", ["Forwarded: for=\"203.0.113.7"], "127.0.0.1:1"),
            // A proxy writes one of the fields, and the client sent the other.
            ("127.0.0.1:1", ["Forwarded: for=203.0.113.7", "X-Forwarded-For: 203.0.113.7"], "203.0.113.7"),
            ("127.0.0.1:1", ["Forwarded: for=1.1.1.1", "X-Forwarded-For: 203.0.113.7"], "127.0.0.1:1"),
        ] as [(String, [String], String)])
    func forwardedFields_ofTrustedProxies_nameTheClient(peer: String, fields: [String], client: String) throws {
        let proxies = try #require(TrustedProxies(Self.proxies))
        #expect(proxies.client(of: try head(fields), peer: peer) == client)
        #expect(TrustedProxies.none.client(of: try head(fields), peer: peer) == peer)
    }

    @Test(
        "a network in CIDR notation contains its addresses and no others",
        arguments: [
            ("10.0.0.0/8", ["10.1.2.3", "10.255.255.255", "::ffff:10.0.0.1"], ["11.0.0.0", "::a00:1"]),
            ("192.0.2.128/25", ["192.0.2.128", "192.0.2.255"], ["192.0.2.127"]),
            ("192.0.2.1", ["192.0.2.1"], ["192.0.2.2"]), ("0.0.0.0/0", ["8.8.8.8"], ["2001:db8::1"]),
            ("::/0", ["2001:db8::1"], ["8.8.8.8"]), ("2001:db8::/33", ["2001:db8:7fff::"], ["2001:db8:8000::"]),
            ("::ffff:10.0.0.0/104", ["10.200.0.1"], ["11.0.0.1"]),
        ])
    func network_parsed_containsItsAddresses(text: String, inside: [String], outside: [String]) throws {
        let network = try #require(IPNetwork(parsing: text))
        for address in inside { #expect(network.contains(try #require(IPAddress(parsing: address))), "\(address)") }
        for address in outside { #expect(!network.contains(try #require(IPAddress(parsing: address))), "\(address)") }
    }

    @Test(
        "text that is not a network is refused as a trusted proxy",
        arguments: [
            "", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "example.org", "10.0.0",
            "10.0.0.1:80",
            "::ffff:10.0.0.0/8", "/8", "10.0.0.0/99999999999999999999",
        ])
    func whatIsNoNetworkIsRefused(text: String) { #expect(TrustedProxies([text]) == nil) }
}
