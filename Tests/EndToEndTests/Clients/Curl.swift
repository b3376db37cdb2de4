import Foundation
import TestSupport

/// An answer received by curl.
struct Answer: Sendable {
    let status: Int
    let headers: [String: String]
    let body: Data
    /// curl's own exit status.
    let exit: Int32

    /// The body as a JSON object; empty if it is not one.
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:] }
    var code: String { json["code"] as? String ?? "" }
    var error: String { json["error"] as? String ?? "" }
    var text: String { String(decoding: body, as: UTF8.self) }
    var classifications: [[String: Any]] { json["classifications"] as? [[String: Any]] ?? [] }
    var topLabel: String { classifications.first?["label"] as? String ?? "" }
    var topIndex: Int { classifications.first?["index"] as? Int ?? -1 }
    var topConfidence: Double { classifications.first?["confidence"] as? Double ?? -1 }
}

/// curl, as users have it.
enum Curl {
    /// Runs curl and parses its answer. The last of several answers (after `100 Continue`) counts.
    static func run(_ url: String, _ arguments: [String] = [], input: Data? = nil) throws -> Answer {
        let result = try Shell.run("curl", ["-sS", "-i", "--max-time", "60"] + arguments + [url], input: input)
        var rest = result.output[...]
        var status = 0
        var headers: [String: String] = [:]
        while let end = rest.range(of: Data("\r\n\r\n".utf8)) {
            let lines = String(decoding: rest[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
            guard lines[0].hasPrefix("HTTP/") else { break }
            status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0
            headers = [:]
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
            }
            rest = rest[end.upperBound...]
            if status >= 200 { break }
        }
        return Answer(status: status, headers: headers, body: Data(rest), exit: result.status)
    }

    /// `curl --data-binary @FILE URL`
    static func post(_ file: URL, to url: String, _ arguments: [String] = []) throws -> Answer {
        try run(url, ["--data-binary", "@\(file.path)"] + arguments)
    }
}
