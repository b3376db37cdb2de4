import Glibc
import HTTPWire

/// The cost of HTTPWire. With `--check` it fails when anything allocates more often than the number beside it says.
@main
enum Benchmark {
    static let curl = Array(
        "GET /healthz HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n".utf8)

    static let browser = Array(
        """
        GET /v1/models/mobilenet_v2?top=5&threshold=0.25 HTTP/1.1\r
        Host: localhost:8080\r
        Connection: keep-alive\r
        Cache-Control: max-age=0\r
        sec-ch-ua: "Chromium";v="130", "Google Chrome";v="130", "Not?A_Brand";v="99"\r
        sec-ch-ua-mobile: ?0\r
        sec-ch-ua-platform: "Linux"\r
        Upgrade-Insecure-Requests: 1\r
        User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36\r
        Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8\r
        Sec-Fetch-Site: none\r
        Sec-Fetch-Mode: navigate\r
        Sec-Fetch-User: ?1\r
        Sec-Fetch-Dest: document\r
        Accept-Encoding: gzip, deflate, br, zstd\r
        Accept-Language: en-GB,en-US;q=0.9,en;q=0.8\r
        Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=all\r
        \r

        """.utf8)

    static func main() {
        var results: [(Measurement, allowed: Double)] = []
        results.append((head("request head, as curl sends it", curl), 1))
        results.append((head("request head, as a browser sends it", browser), 1))
        results.append((headByteByByte("the browser's, a byte at a time", browser), 1))
        results.append((lookup(), 0))
        results.append((path(), 1))
        results.append((chunked("chunked body, chunks of 64 KiB", chunk: 65_536), 0))
        results.append((chunked("chunked body, chunks of 16 bytes", chunk: 16), 0))
        results.append((multipart("multipart, two parts of 512 KiB, random"), 8))
        results.append((response(), 0))
        results.append((date(), 0))
        print(Measurement.heading)
        var failed = false
        for (result, allowed) in results {
            let isOver = result.allocations > allowed + 0.05
            print(result.line + (isOver ? "  over the \(allowed) allowed" : ""))
            failed = failed || isOver
        }
        if failed && CommandLine.arguments.contains("--check") { exit(1) }
    }

    private static func head(_ name: String, _ bytes: [UInt8]) -> Measurement {
        var parser = RequestParser()
        return bytes.withUnsafeBytes { bytes in
            Measurement(name, bytes: bytes.count) {
                guard case .head(let head, let consumed) = try? parser.parse(bytes) else { exit(2) }
                return consumed &+ head.fieldCount
            }
        }
    }

    private static func headByteByByte(_ name: String, _ bytes: [UInt8]) -> Measurement {
        var parser = RequestParser()
        return bytes.withUnsafeBytes { bytes in
            Measurement(name, bytes: bytes.count) {
                for count in 1...bytes.count {
                    let result = try? parser.parse(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                    if case .head(let head, let consumed) = result { return consumed &+ head.fieldCount }
                }
                exit(2)
            }
        }
    }

    private static func parsed(_ bytes: [UInt8]) -> RequestHead {
        var parser = RequestParser()
        let result = bytes.withUnsafeBytes { try? parser.parse($0) }
        guard case .head(let head, _) = result else { exit(2) }
        return head
    }

    private static func lookup() -> Measurement {
        let head = parsed(browser)
        return Measurement("three fields looked up, one absent", bytes: browser.count) {
            (head.contains("cookie") ? 1 : 0) &+ (head.contains("Accept-Language") ? 1 : 0)
                &+ (head.contains("X-Request-ID") ? 1 : 0)
        }
    }

    private static func path() -> Measurement {
        let head = parsed(browser)
        return Measurement("the target's path", bytes: 24) { head.target.path.utf8.count }
    }

    private static func chunked(_ name: String, chunk: Int) -> Measurement {
        var body: [UInt8] = []
        while body.count < 1 << 20 {
            body += Array("\(String(chunk, radix: 16))\r\n".utf8) + [UInt8](repeating: 97, count: chunk) + [13, 10]
        }
        body += Array("0\r\n\r\n".utf8)
        return body.withUnsafeBytes { bytes in
            Measurement(name, bytes: bytes.count) {
                var decoder = ChunkedDecoder()
                var count = 0
                _ = try? decoder.decode(bytes) { data throws(WireError) in count &+= data.count }
                if !decoder.isDone { exit(2) }
                return count
            }
        }
    }

    private static func multipart(_ name: String) -> Measurement {
        let boundary = Array("------------------------d74496d66958873e".utf8)
        var state: UInt64 = 1
        var body: [UInt8] = []
        for number in 1...2 {
            body += [45, 45] + boundary
            body += Array("\r\nContent-Disposition: form-data; name=\"image\"; filename=\"\(number).jpg\"\r\n".utf8)
            body += Array("Content-Type: image/jpeg\r\n\r\n".utf8)
            for _ in 0..<(1 << 16) {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                withUnsafeBytes(of: state ^ (state >> 29)) { body.append(contentsOf: $0) }
            }
            body += [13, 10]
        }
        body += [45, 45] + boundary + [45, 45, 13, 10]
        return body.withUnsafeBytes { bytes in
            Measurement(name, bytes: bytes.count) {
                var decoder = MultipartDecoder(boundary: boundary)
                var count = 0
                _ = try? decoder.feed(bytes) { event throws(WireError) in
                    if case .data(let range) = event { count &+= range.count }
                }
                if count != 1 << 20 { exit(2) }
                return count
            }
        }
    }

    private static func response() -> Measurement {
        var out: [UInt8] = []
        out.reserveCapacity(1024)
        func write() -> Int {
            out.removeAll(keepingCapacity: true)
            ResponseSerializer.appendStatusLine(.ok, to: &out)
            ResponseSerializer.appendField("Content-Type", "application/json", to: &out)
            ResponseSerializer.appendField("Content-Length", number: 1234, to: &out)
            ResponseSerializer.appendField("Server", "ocelli/0.1.0", to: &out)
            ResponseSerializer.appendField("X-Request-ID", "01JCZ3V5T8Q9W2E4R6T8Y0U1I3", to: &out)
            ResponseSerializer.appendEnd(to: &out)
            return out.count
        }
        return Measurement("response head of four fields", bytes: write(), write)
    }

    private static func date() -> Measurement {
        var out: [UInt8] = []
        out.reserveCapacity(64)
        var now: Int64 = 1_795_000_000
        return Measurement("date", bytes: 29) {
            out.removeAll(keepingCapacity: true)
            now &+= 1
            HTTPDate.append(unixSeconds: now, to: &out)
            return out.count
        }
    }
}
