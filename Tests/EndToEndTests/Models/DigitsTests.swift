import Foundation
import TestSupport
import Testing

/// The embedded model, as used by a new user.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct DigitsTests {
    static let examples = SharedData.packageRoot.appendingPathComponent("examples")

    /// The digit of each example is the first word of its name.
    static let digits = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]

    static var pictures: [(file: URL, digit: Int)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: examples.path)) ?? []
        return names.sorted().compactMap { name in
            guard let digit = digits.firstIndex(where: { name.hasPrefix($0) }) else { return nil }
            return (examples.appendingPathComponent(name), digit)
        }
    }

    @Test("/v1/classify reads the digit of each example picture")
    func everyExampleIsReadThroughHTTP() throws {
        let daemon = try Daemon()
        #expect(Self.pictures.count >= 10)
        for (file, digit) in Self.pictures {
            let answer = try Curl.post(file, to: daemon.url + "/v1/classify")
            #expect(answer.status == 200, "\(file.lastPathComponent): \(answer.text)")
            #expect(answer.topLabel == String(digit), "\(file.lastPathComponent): \(answer.text)")
            #expect(answer.json["model"] as? String == "digits")
            #expect(answer.classifications.count == 5)
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("`ocelli classify` reads the digit of each example picture")
    func everyExampleIsReadByTheCommand() throws {
        let result = try Shell.run(
            Daemon.binary.path, ["classify", "--json", "--top", "1"] + Self.pictures.map(\.file.path),
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.text.split(separator: "\n")
        #expect(lines.count == Self.pictures.count)
        for (line, picture) in zip(lines, Self.pictures) {
            #expect(line.contains("\"label\":\"\(picture.digit)\""), "\(line)")
        }
    }

    @Test("`ocelli classify` with files that fail ends with status 1, and answers the good file")
    func aFileThatFailsIsTheExitStatusAndTheOthersAreAnswered() throws {
        let result = try Shell.run(
            Daemon.binary.path,
            [
                "classify", Self.examples.path + "/seven.png", AbsentPath.path + ".png",
                SharedData.packageRoot.path + "/README.md",
            ],
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(result.status == 1)
        #expect(result.text.contains("  7"))
        #expect(result.errors.contains("\(AbsentPath.path).png: cannot be read: no such file"))
        #expect(result.errors.contains("README.md: "))
    }

    @Test("a second start takes the compiled model from the cache")
    func aSecondStartTakesTheCompiledModelFromTheCache() throws {
        try Daemon().stop()
        let daemon = try Daemon()
        #expect(daemon.log.contains("from the cache of compiled models"), "\(daemon.log)")
        daemon.stop()
    }
}
