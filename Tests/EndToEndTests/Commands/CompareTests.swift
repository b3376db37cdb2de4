import Foundation
import TestSupport
import Testing

/// `ocelli compare`: two versions of the digits model, one of them with exchanged labels.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct CompareTests {
    private let models: RolloutTests.Models
    private var versions: [String] { ["1", "2"].map { models.place.appendingPathComponent($0).path } }
    /// Eight pictures of digits, one of them a seven and one a five.
    private let pictures: String

    init() throws {
        models = try RolloutTests.Models(["1", "2"])
        let folder = models.folder.appendingPathComponent("pictures")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let examples = SharedData.packageRoot.appendingPathComponent("examples")
        for name in try FileManager.default.contentsOfDirectory(atPath: examples.path) where name.hasSuffix(".png") {
            try FileManager.default.copyItem(
                at: examples.appendingPathComponent(name), to: folder.appendingPathComponent(name))
        }
        pictures = folder.path
    }

    private func compare(_ arguments: [String]) throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, ["compare"] + versions + arguments)
    }

    @Test("two equal versions agree on every picture, and `ocelli compare` exits with 0")
    func equalVersions_agree() throws {
        let result = try compare([pictures, "--json"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.json["agrees"] as? Bool == true && result.json["agreement"] as? Double == 1)
        #expect(result.json["compared"] as? Int == 8 && result.json["agreed"] as? Int == 8)
        #expect((result.json["differences"] as? [Any])?.isEmpty == true)
        #expect((result.json["confidence_difference"] as? [String: Double])?["largest"] == 0)
    }

    /// The version in model.json, which a converted or updated file often keeps.
    @Test("models are named by their paths, and by their versions only where these differ")
    func modelsAreNamedByPathAndDifferingVersion() throws {
        for version in ["1", "2"] {
            for (path, number) in zip(versions, ["1", version]) {
                let file = URL(fileURLWithPath: path).appendingPathComponent("model.json")
                var json = try #require(
                    try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
                json["version"] = number
                try JSONSerialization.data(withJSONObject: json).write(to: file)
            }
            let result = try compare([pictures]), first = result.text.split(separator: "\n").first ?? ""
            let expected =
                version == "1"
                ? "classify: \(versions[0]) and \(versions[1])"
                : "classify: \(versions[0]) (version 1) and \(versions[1]) (version 2)"
            #expect(first == expected, "\(result.text)\(result.errors)")
        }
    }

    @Test("a version with two labels exchanged disagrees on their pictures; the report and its page show which")
    func exchangedLabels_areReported() throws {
        try models.spoil("2")
        let page = models.folder.appendingPathComponent("page.html")
        let result = try compare([pictures, "--html", page.path])
        #expect(result.status == 1)
        for line in [
            "6 of 8 answers agree (75.0%), too few: expected 98.0%", "  5: 0 of 1", "  7: 0 of 1",
            "seven.png: expected 7 0.98, got 5 0.98",
        ] {
            #expect(result.text.contains(line), "\(result.text)")
        }
        let html = try String(contentsOf: page, encoding: .utf8)
        #expect(html.contains("seven.png") && html.contains("data:image/png;base64,"))
        #expect(html.contains("<th class=\"old\">\(versions[0])"), "each column has the name of its model")
        #expect(!html.contains("six.png"), "pictures that agree are not shown")
        // A lower limit may be set.
        #expect(try compare([pictures, "--at-least", "0.75"]).status == 0)
        #expect(try compare([pictures, "--at-least", "0.76"]).status == 1)
    }

    /// A ratio needs twenty pictures. The versions are equal: one limit is below their ratio, the other far above it.
    @Test("a version slower than `--latency` allows is reported, and `ocelli compare` exits with 1")
    func slowVersion_isReported() throws {
        let many = models.folder.appendingPathComponent("many")
        try FileManager.default.createDirectory(at: many, withIntermediateDirectories: true)
        for number in 1...24 {
            try FileManager.default.copyItem(
                at: BadInputTests.seven, to: many.appendingPathComponent("\(number).png"))
        }
        let slow = try compare([many.path, "--latency", "0.01"])
        #expect(slow.status == 1, "\(slow.errors)")
        #expect(slow.text.contains("times as long, too long: expected at most 0.01"), "\(slow.text)")
        let quick = try compare([many.path, "--latency", "100"])
        #expect(quick.status == 0, "\(quick.errors)")
        #expect(quick.text.contains("times as long, expected at most 100.0"), "\(quick.text)")
    }

    @Test("a picture that cannot be read is named, and `ocelli compare` exits with 1")
    func unreadablePicture_isNamed() throws {
        let list = models.folder.appendingPathComponent("list.txt")
        try "\(pictures)/seven.png\n\(models.folder.path)/nosuch.png\n".write(
            to: list, atomically: true, encoding: .utf8)
        let result = try compare([list.path])
        #expect(result.status == 1)
        #expect(result.errors.contains("nosuch.png"))
        #expect(result.text.contains("1 could not be read"))
    }

    @Test("a wrong flag, model or task is refused with the expected one")
    func wrongArguments_areRefused() throws {
        for (arguments, expected) in [
            ([], "expected two models and pictures"), ([pictures, "--at-least", "2"], "--at-least"),
            ([pictures, "--task", "detect"], "detect"), ([pictures, "--latency", "0"], "--latency"),
        ] {
            let result = try compare(arguments)
            #expect(result.status != 0, "\(arguments)")
            #expect(result.errors.contains(expected), "\(arguments): \(result.errors)")
        }
    }
}
