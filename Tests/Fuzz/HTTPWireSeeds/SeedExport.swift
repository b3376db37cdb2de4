import Foundation
import HTTPWire

/// Writes every case of the fixtures as one file for a fuzzer's corpus: `export-seeds FIXTURES CORPUS`.
@main
enum SeedExport {
    static func main() throws {
        guard CommandLine.arguments.count == 3 else { throw Fixture.Malformed(description: "FIXTURES CORPUS") }
        let source = URL(fileURLWithPath: CommandLine.arguments[1])
        let target = URL(fileURLWithPath: CommandLine.arguments[2])
        var count = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: source.path).sorted()
        where name.hasSuffix(".md") && name != "README.md" {
            let text = try String(contentsOf: source.appendingPathComponent(name), encoding: .utf8)
            for fixture in try Fixture.read(text) {
                for limits in 0...1 {
                    count += 1
                    let bytes = seed(fixture, limits: limits, number: count)
                    try Data(bytes).write(to: target.appendingPathComponent("\(name).\(fixture.line).\(limits)"))
                }
                // The chunk decoder and its oracle take only the body.
                if let body = bodyOnly(fixture) {
                    count += 1
                    try Data(body).write(to: target.appendingPathComponent("\(name).\(fixture.line).body"))
                }
            }
        }
        print("\(count) seeds")
    }

    private static func seed(_ fixture: Fixture, limits: Int, number: Int) -> [UInt8] {
        var input = FuzzInput()
        input.limits = limits
        input.cutSeed = UInt8(truncatingIfNeeded: number)
        input.bytes = fixture.input ?? []
        if case .multipart(let boundary) = fixture.kind {
            input.isMultipart = true
            input.boundary = FuzzInput.boundaries.firstIndex(of: String(decoding: boundary, as: UTF8.self)) ?? 0
        }
        return input.encoded
    }

    private static func bodyOnly(_ fixture: Fixture) -> [UInt8]? {
        guard case .connection = fixture.kind, let bytes = fixture.input,
            let end = Data(bytes).range(of: Data([13, 10, 13, 10]))
        else { return nil }
        var input = FuzzInput()
        input.bytes = Array(bytes[end.upperBound...])
        return input.encoded
    }
}
