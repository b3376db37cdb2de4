import Foundation
import ImagePipeline
import TestSupport
import Testing

/// `ocelli teach NAME DIR` with a small embedder: the bundle, the report and the errors.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct TeachFoldersTests {
    private static let embedder = SharedData.packageRoot.appendingPathComponent(
        "Tests/Fixtures/observations/embedder")
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("teach-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func clean() { try? FileManager.default.removeItem(at: folder) }

    /// A picture of one colour with noise.
    private static func picture(_ color: [Int], _ random: inout SplitMix, noise: Int = 30) throws -> Data {
        let side = 24
        let pixels = (0..<side * side).flatMap { _ in
            color.map { UInt8(clamping: $0 + Int.random(in: -noise...noise, using: &random)) }
        }
        return Data(
            try pixels.withUnsafeBytes { raw throws(ImageError) in
                try PNGEncoder.encode(width: side, height: side, channels: 3, pixels: raw)
            })
    }

    static let colors = ["blue": [40, 60, 200], "green": [60, 180, 60], "red": [200, 50, 40]]

    /// Folders of pictures.
    private func pictures(
        _ name: String, _ classes: [String], each: Int, seed: UInt64, noise: Int = 30
    ) throws -> URL {
        var random = SplitMix(seed: seed)
        let root = folder.appendingPathComponent(name)
        for label in classes {
            let place = root.appendingPathComponent(label)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            for number in 0..<each {
                let color = Self.colors[label] ?? [230, 220, 30]
                try Self.picture(color, &random, noise: noise).write(to: place.appendingPathComponent("\(number).png"))
            }
        }
        return root
    }

    private func run(_ arguments: [String], environment: [String: String]? = nil) throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, arguments, environment: environment, directory: folder)
    }

    private func teach(_ more: [String] = [], pictures: String = "photos") throws -> Shell.Result {
        try run(["teach", "colors", pictures, "--embedder", Self.embedder.path] + more)
    }

    private func embeddings(_ files: [URL]) throws -> [[Double]] {
        let result = try run(
            ["embed", "--models", Self.embedder.deletingLastPathComponent().path, "--model", "embedder", "--json"]
                + files.map(\.path))
        return try result.text.split(separator: "\n").map { line in
            let json = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            return try #require(json["embedding"] as? [Double], "\(line)")
        }
    }

    private func files(_ root: URL, _ label: String) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(label).path).sorted().map {
            root.appendingPathComponent(label).appendingPathComponent($0)
        }
    }

    /// The documented arithmetic of the nearest mean, in 64-bit numbers.
    private struct NearestMean {
        let center: [Double]
        let means: [[Double]]

        init(_ classes: [[[Double]]]) {
            let all = classes.flatMap { $0 }
            let center = all[0].indices.map { index in all.reduce(0) { $0 + $1[index] } / Double(all.count) }
            self.center = center
            means = classes.map { rows in
                let directions = rows.map { Self.unit(zip($0, center).map { $0 - $1 }) }
                return Self.unit(directions[0].indices.map { index in directions.reduce(0) { $0 + $1[index] } })
            }
        }

        static func unit(_ vector: [Double]) -> [Double] {
            let length = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
            return vector.map { $0 / length }
        }

        func answer(_ embedding: [Double]) -> (confidences: [Double], first: Int, distance: Double) {
            let direction = Self.unit(zip(embedding, center).map { $0 - $1 })
            let cosines = means.map { zip($0, direction).reduce(0) { $0 + $1.0 * $1.1 } }
            let powers = cosines.map { exp(10 * $0) }
            let first = cosines.indices.max { cosines[$0] < cosines[$1] } ?? 0
            return (powers.map { $0 / powers.reduce(0, +) }, first, 1 - cosines[first])
        }
    }

    @Test("a bundle taught from folders gives the confidences and distances of the documented nearest mean")
    func aBundleAnswersAsItsPicturesSay() throws {
        defer { clean() }
        let photos = try pictures("photos", ["red", "blue", "green"], each: 5, seed: 1)
        let made = try teach(["--method", "nearest_mean", "-o", "models/colors"])
        #expect(made.status == 0, "\(made.text)\(made.errors)")
        #expect(made.text.contains("colors: 15 pictures of 3 classes, nearest_mean on embeddings of embedder"))
        #expect(made.text.contains("15 of 15 right, each answered without itself: 100.0 %, and 79.6 to 100.0 %"))
        let labels = ["blue", "green", "red"]
        let head = NearestMean(try labels.map { try embeddings(try files(photos, $0)) })
        // Pictures that were not taught, some of them of a colour that was not taught.
        let others = try pictures("others", ["blue", "green", "red", "yellow"], each: 2, seed: 2)
        let asked = try (labels + ["yellow"]).flatMap { try files(others, $0) }
        let vectors = try embeddings(asked)
        let daemon = try Daemon(["--models", folder.appendingPathComponent("models").path])
        defer { daemon.stop() }
        let model = try Curl.run(daemon.url + "/v1/models/colors").json
        let taught = try #require(model["taught"] as? [String: Any])
        let threshold = try #require(taught["threshold"] as? Double)
        #expect(taught["method"] as? String == "nearest_mean" && model["labels"] as? Int == 3)
        var known = 0
        for (file, vector) in zip(asked, vectors) {
            let answer = try Curl.post(file, to: daemon.url + "/v1/models/colors/classify").json
            let expected = head.answer(vector)
            let found = try #require(answer["classifications"] as? [[String: Any]])
            #expect(found.count == 3 && found.first?["label"] as? String == labels[expected.first])
            for one in found {
                let index = try #require(one["index"] as? Int), confidence = try #require(one["confidence"] as? Double)
                #expect(abs(confidence - expected.confidences[index]) < 1e-4)
            }
            let distance = try #require(answer["distance"] as? Double)
            #expect(abs(distance - expected.distance) < 1e-4)
            #expect(answer["known"] as? Bool == (distance <= threshold))
            known += answer["known"] as? Bool == true ? 1 : 0
        }
        #expect(known < asked.count, "a colour that was not taught is not known")
        // The other forms of answers have the same.
        let lines = try run(["classify", "--models", "models", "--jsonl", "others/red"])
        #expect(
            lines.text.contains("\"distance\":") && lines.text.contains("\"known\":"), "\(lines.text)\(lines.errors)")
        let text = try run(["classify", "--models", "models", "others/yellow/0.png"])
        #expect(text.text.contains("unknown: "), "\(text.text)")
        let check = try run(["check", "models/colors"])
        #expect(check.status == 0 && check.text.contains("taught by nearest_mean, 3 classes"), "\(check.text)")
        let explained = try Curl.post(
            asked[0], to: daemon.url + "/v1/models/colors/classify?explain=preprocess")
        #expect(explained.status == 200)
    }

    @Test(
        "the same pictures under other names and in another order give the same bundle",
        arguments: ["nearest_mean", "logistic", "nearest_neighbors"])
    func theSamePicturesGiveTheSameBundle(_ method: String) throws {
        defer { clean() }
        let photos = try pictures("photos", ["red", "blue"], each: 4, seed: 3, noise: 90)
        #expect(try teach(["--method", method, "-o", "one/colors"]).status == 0)
        // Other names, another order, in a folder of the class.
        for (number, file) in try files(photos, "red").enumerated() {
            let inner = photos.appendingPathComponent("red/more")
            try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
            try FileManager.default.moveItem(at: file, to: inner.appendingPathComponent("\(9 - number).png"))
        }
        #expect(try teach(["--method", method, "-o", "two/colors"]).status == 0)
        for name in ["taught.safetensors", "model.json", "model.onnx"] {
            let bundles = try ["one", "two"].map {
                try Data(contentsOf: folder.appendingPathComponent("\($0)/colors/\(name)"))
            }
            #expect(bundles[0] == bundles[1], "\(name)")
        }
        let header = try Data(contentsOf: folder.appendingPathComponent("one/colors/taught.safetensors"))
        #expect(String(decoding: header.prefix(400), as: UTF8.self).contains("\"method\":\"\(method)\""))
    }

    @Test("unreadable pictures and pictures in two classes are listed as errors, and the others are taught")
    func picturesThatFailAreListedAndTheOthersAreTaught() throws {
        defer { clean() }
        let photos = try pictures("photos", ["red", "blue"], each: 3, seed: 4)
        try Data("no picture".utf8).write(to: photos.appendingPathComponent("red/broken.png"))
        try FileManager.default.copyItem(
            at: photos.appendingPathComponent("red/0.png"), to: photos.appendingPathComponent("blue/same.png"))
        try FileManager.default.copyItem(
            at: photos.appendingPathComponent("blue/1.png"), to: photos.appendingPathComponent("blue/twice.png"))
        try Data("notes".utf8).write(to: photos.appendingPathComponent("blue/notes.txt"))
        try Self.unclassifiedPictures(photos)
        let made = try teach(["--json", "-o", "colors"])
        #expect(made.status == 1, "\(made.text)\(made.errors)")
        let errors = try #require(made.json["errors"] as? [[String: String]])
        #expect(errors.map { $0["file"] } == ["photos/blue/same.png", "photos/red/0.png", "photos/red/broken.png"])
        #expect(errors.map { $0["code"] } == ["conflict", "conflict", "unsupported_media_type"])
        #expect(errors[0]["error"] == #"is in the classes "blue" and "red": a picture has one class"#)
        #expect(made.errors.contains("1 picture in photos itself left out"))
        let classes = try #require(made.json["classes"] as? [[String: Any]])
        #expect(classes.map { $0["examples"] as? Int } == [3, 2])
        #expect(try run(["check", "colors"]).status == 0)
    }

    private static func unclassifiedPictures(_ photos: URL) throws {
        try FileManager.default.copyItem(
            at: photos.appendingPathComponent("red/1.png"), to: photos.appendingPathComponent("stray.png"))
    }

    @Test("`ocelli teach` replaces only its own bundles, and only with --force")
    func whatIsThereIsNotReplacedWithoutAWord() throws {
        defer { clean() }
        _ = try pictures("photos", ["red", "blue"], each: 2, seed: 5)
        // NAME in the current folder, or in the folder of models.
        #expect(try teach().text.contains("wrote colors"))
        let again = try teach()
        #expect(again.status == 1 && again.errors.contains("colors already exists: use --force"), "\(again.errors)")
        #expect(try teach(["--force"]).status == 0)
        let models = folder.appendingPathComponent("models")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        #expect(try teach(["--models", "models"]).text.contains("wrote models/colors"))
        // Bundles that this command did not make are not replaced.
        try FileManager.default.copyItem(at: Self.embedder, to: folder.appendingPathComponent("other"))
        let other = try teach(["-o", "other", "--force"])
        #expect(other.status == 1 && other.errors.contains("other was not made by ocelli teach"), "\(other.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix(".") } == [])
    }

    @Test("wrong arguments of `ocelli teach` are refused with a message, and nothing is written")
    func mistakesAreNamed() throws {
        defer { clean() }
        let photos = try pictures("photos", ["red", "blue"], each: 2, seed: 6)
        func refuses(_ arguments: [String], _ status: Int32, _ words: String) throws {
            let result = try run(["teach"] + arguments)
            #expect(result.status == status && result.errors.contains(words), "\(arguments): \(result.errors)")
        }
        let embedder = ["--embedder", Self.embedder.path]
        try refuses(["colors"], 2, "expected NAME and DIR")
        try refuses(["colors", "photos", "more"], 2, "expected NAME and DIR")
        try refuses(["../colors", "photos"] + embedder, 2, "can't be that of a taught model")
        try refuses(["colors", "nothing"] + embedder, 1, "nothing cannot be read")
        try refuses(["colors", "photos/red"] + embedder, 1, "photos/red has no folders: expected one for each class")
        try refuses(["colors", "photos", "--method", "svm"], 2, "--method: expected auto, nearest_mean, logistic or")
        try refuses(
            ["colors", "--evaluate", "photos", "--force"], 2, "not with --embedder, -o, --method, --normal or --force")
        let digits = SharedData.packageRoot.appendingPathComponent("models/digits").path
        try refuses(["colors", "photos", "--embedder", digits], 1, "gives no embeddings: it answers /classify")
        try refuses(["colors", "photos", "--embedder", "none", "--models", photos.path], 1, "unknown model \"none\"")
        try FileManager.default.createDirectory(
            at: photos.appendingPathComponent("empty"), withIntermediateDirectories: true)
        try refuses(["colors", "photos"] + embedder, 1, "no picture can be used of the class \"empty\"")
        #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("colors").path))
    }

    @Test("`teach --evaluate` reports the accuracy on other pictures, and pictures of unknown classes")
    func otherPicturesAreAskedAbout() throws {
        defer { clean() }
        _ = try pictures("photos", ["red", "blue", "green"], each: 5, seed: 7)
        _ = try pictures("later", ["red", "blue", "yellow"], each: 3, seed: 8)
        #expect(try teach().status == 0)
        let result = try run(["teach", "colors", "--evaluate", "later", "--json", "--html", "report.html"])
        #expect(result.status == 0, "\(result.errors)")
        let evaluation = try #require(result.json["evaluation"] as? [String: Any])
        #expect(evaluation["examples"] as? Int == 6 && evaluation["correct"] as? Int == 6)
        let interval = try #require(evaluation["interval"] as? [Double])
        // Wilson's interval of 6 of 6, by statsmodels.
        #expect(abs(interval[0] - 0.6096657) < 1e-6 && interval[1] == 1)
        let unknownPictures = try #require(evaluation["strangers"] as? [String: Int])
        #expect(unknownPictures["examples"] == 3)
        let page = try String(contentsOf: folder.appendingPathComponent("report.html"), encoding: .utf8)
        #expect(page.contains("6 of 6 right") && page.contains("class=\"matrix\""))
        #expect(!page.contains("http:") && !page.contains("https:") && !page.contains("src="))
        let text = try run(["teach", "colors", "--evaluate", "later"])
        #expect(text.text.contains("3 pictures of other classes: "), "\(text.text)")
        // Any classifier can be evaluated: its labels are the folders' names.
        let digits = try run([
            "teach", "digits", "--evaluate", "later", "--models",
            SharedData.packageRoot.appendingPathComponent("models").path,
        ])
        #expect(
            digits.text.contains("9 pictures of other classes: unknown classes are not recognized"),
            "\(digits.text)\(digits.errors)"
        )
    }

    @Test("a killed `ocelli teach` leaves no bundle or a whole bundle")
    func aKillLeavesNoHalfBundle() throws {
        defer { clean() }
        _ = try pictures("photos", ["red", "blue"], each: 3, seed: 9)
        let models = folder.appendingPathComponent("models")
        var random = SplitMix(seed: 10)
        let clock = ContinuousClock()
        var whole = 0
        let start = clock.now
        #expect(try teach(["-o", "first"]).status == 0)
        let usual = clock.now - start
        for turn in 0..<LongTests.times(10, long: 60) {
            let process = Process()
            process.executableURL = Daemon.binary
            process.arguments = [
                "teach", "colors", "photos", "--embedder", Self.embedder.path, "-o", "models/colors",
            ]
            process.currentDirectoryURL = folder
            (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
            try process.run()
            // Most of them near the end, while files are written.
            let share = Double.random(in: turn % 4 == 0 ? 0...1 : 0.6...1.1, using: &random)
            Thread.sleep(forTimeInterval: usual / .seconds(1) * share)
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            let bundle = models.appendingPathComponent("colors")
            if FileManager.default.fileExists(atPath: bundle.path) {
                whole += 1
                let check = try run(["check", bundle.path])
                #expect(check.status == 0, "\(check.text)\(check.errors)")
                try FileManager.default.removeItem(at: bundle)
            }
            // A daemon ignores the remaining files.
            let rest = (try? FileManager.default.contentsOfDirectory(atPath: models.path)) ?? []
            #expect(rest.allSatisfy { $0.hasPrefix(".colors.teaching-") }, "\(rest)")
        }
        print("\(whole) bundles were whole before the kill")
    }
}
