import Foundation
import TestSupport
import Testing

/// `ocelli classify --jsonl` and `ocelli ready`.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct BulkTests {
    private let examples = SharedData.packageRoot.appendingPathComponent("examples")

    /// The digit of each example, by its file name.
    private let digits = [
        "seven.png": "7", "three.png": "3", "zero-colours.png": "0", "six-tiny.png": "6", "nine-photo.jpg": "9",
    ]

    private struct Line: Decodable {
        let file: String
        let digest: String?
        let error: String?
        let classifications: [Classification]?

        struct Classification: Decodable { let label: String }
    }

    private func lines(_ text: String) throws -> [Line] {
        try text.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    /// Runs with the list as standard input.
    private func bulk(_ list: String, _ arguments: [String] = []) throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, ["classify", "--jsonl"] + arguments, input: Data(list.utf8))
    }

    @Test("`classify --jsonl` answers in the order of its list; a picture that fails is an error line")
    func answersComeInTheOrderOfTheListAndErrorsAreLines() throws {
        let names = digits.keys.sorted()
        var list = names.map { examples.appendingPathComponent($0).path }
        list.insert("{\"path\": \"\(examples.appendingPathComponent("three.png").path)\", \"id\": 5}", at: 1)
        list.insert(AbsentPath.path + ".png", at: 2)
        list.insert("", at: 3)
        list.insert("{\"file\": 5}", at: 4)
        list.append(SharedData.packageRoot.appendingPathComponent("LICENSE").path + "\r")
        let result = try bulk(list.joined(separator: "\n"))
        #expect(result.status == 1, "three of them failed")
        let answers = try lines(result.text)
        try #require(answers.count == list.count - 1, "a blank line is nothing: \(result.errors)")
        #expect(answers.first?.file.hasSuffix(names[0]) == true)
        #expect(answers[1].classifications?.first?.label == "3")
        #expect(
            answers[2].error?.contains("no such file") == true || answers[2].error?.contains("No such file") == true)
        #expect(answers[3].error?.contains("{\"path\": \"cat.jpg\"}") == true)
        #expect(answers.last?.error?.contains("JPEG, PNG") == true)
        for answer in answers where answer.error == nil && answer.file.contains("/examples/") {
            let name = answer.file.split(separator: "/").last.map(String.init) ?? ""
            #expect(answer.classifications?.first?.label == digits[name], "\(name)")
        }
    }

    /// Notepad and PowerShell write a byte order mark before text.
    @Test(
        "a byte order mark before a list is not part of the first path", arguments: ["%@\r\n", "{\"path\": \"%@\"}\n"])
    func aByteOrderMarkIsNotPartOfTheFirstPath(_ form: String) throws {
        let seven = examples.appendingPathComponent("seven.png").path
        let result = try bulk("\u{FEFF}" + form.replacingOccurrences(of: "%@", with: seven))
        #expect(try lines(result.text).map(\.file) == [seven], "\(result.text)")
        #expect(result.status == 0, "\(result.errors)")
    }

    /// The container image has no shell that could redirect the list.
    @Test("the list of `classify --jsonl` may be a file, several files, `-` or standard input")
    func listMayBeAFile() throws {
        let seven = examples.appendingPathComponent("seven.png").path
        let list = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString).txt")
        defer { try? FileManager.default.removeItem(at: list) }
        try (seven + "\n").write(to: list, atomically: true, encoding: .utf8)
        for (arguments, input) in [([list.path], ""), (["-"], seven), ([], seven)] {
            let result = try bulk(input, arguments)
            #expect(result.status == 0, "\(arguments): \(result.errors)")
            #expect(try lines(result.text).map { $0.classifications?.first?.label } == ["7"], "\(arguments)")
        }
        let absent = try bulk("", [AbsentPath.path + ".txt"])
        #expect(absent.status != 0 && absent.errors.contains(AbsentPath.path + ".txt"), "\(absent.errors)")
        let two = try bulk("", [list.path, list.path])
        #expect(try two.status == 0 && lines(two.text).map(\.file) == [seven, seven], "\(two.errors)")
    }

    /// `script` gives the program a terminal, which shows both outputs.
    @Test(
        "`classify --jsonl` shows how much is done, the rate and the time left on a terminal, and nowhere else"
    )
    func progressIsShownOnATerminal() throws {
        let list = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString).txt")
        defer { try? FileManager.default.removeItem(at: list) }
        let seven = examples.appendingPathComponent("seven.png").path
        try Array(repeating: seven, count: 2000).joined(separator: "\n").write(
            to: list, atomically: true, encoding: .utf8)
        let command = "'\(Daemon.binary.path)' classify --jsonl '\(list.path)'"
        let shown = try Shell.run("script", ["-qefc", command, "/dev/null"])
        #expect(shown.status == 0, "\(shown.errors)")
        let lines = shown.text.matches(of: #/(\d+) of 2000 done, 0 failed, ([\d.]+)/s(?:, (\d+) s left)?/#)
        let figures = lines.compactMap { line -> (done: Double, rate: Double, left: Double)? in
            guard let done = Double(line.1), let rate = Double(line.2), let left = line.3.flatMap({ Double($0) })
            else { return nil }
            return (done, rate, left)
        }
        try #require(!figures.isEmpty, "\(shown.text.suffix(500))")
        #expect(figures.map(\.done) == figures.map(\.done).sorted())
        for figure in figures {
            // The rate is rounded to one decimal, the time to the next second.
            #expect(abs((2000 - figure.done) / figure.rate - figure.left) < 1.1, "\(figure)")
        }
        let elsewhere = try bulk("", [list.path])
        #expect(elsewhere.status == 0 && !elsewhere.errors.contains(" done, "), "\(elsewhere.errors)")
    }

    /// (A test of thousands of short threads, too: the program once crashed when a thread ended before it got its
    /// name.)
    @Test(
        "a `--resume` run that is killed again and again answers each of 3,000 pictures once, in order",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)))
    func killedRunGoesOnWhereItStopped() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-bulk-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let names = digits.keys.sorted()
        let wanted = try (0..<3000).map { number in
            let link = folder.appendingPathComponent("\(number)-\(names[number % names.count])")
            try FileManager.default.createSymbolicLink(
                at: link, withDestinationURL: examples.appendingPathComponent(names[number % names.count]))
            return link.path
        }
        let list = folder.appendingPathComponent("list"), answers = folder.appendingPathComponent("answers")
        try wanted.joined(separator: "\n").write(to: list, atomically: true, encoding: .utf8)
        let seed = SplitMix.seed(for: "killedRunGoesOnWhereItStopped")
        var random = SplitMix(seed: seed)
        var kills = 0
        for _ in 0..<60 {
            let process = Process()
            process.executableURL = Daemon.binary
            process.arguments = ["classify", "--jsonl", "--resume", answers.path]
            process.environment = Shell.environment
            process.standardInput = try FileHandle(forReadingFrom: list)
            try process.run()
            if kills < 10 {
                usleep(UInt32.random(in: 200_000...900_000, using: &random))
                if process.isRunning { kill(process.processIdentifier, SIGKILL) }
                process.waitUntilExit()
                kills += 1
                continue
            }
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            break
        }
        let found = try lines(String(contentsOf: answers, encoding: .utf8)).map(\.file)
        // Not `found == wanted` in the expectation, which would print thousands of paths.
        let isRight = found == wanted
        #expect(isRight, "seed \(seed): \(found.count) answers for \(wanted.count) pictures, or in another order")
    }

    /// A folder with copies of the examples.
    private func pictures() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-bulk-\(UUID().uuidString)")
        let inner = folder.appendingPathComponent("photos/inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        for (index, name) in digits.keys.sorted().enumerated() {
            let place = (index % 2 == 0 ? inner : inner.deletingLastPathComponent()).appendingPathComponent(name)
            try FileManager.default.copyItem(at: examples.appendingPathComponent(name), to: place)
        }
        try "no picture".write(to: inner.appendingPathComponent("notes.txt"), atomically: true, encoding: .utf8)
        return folder
    }

    private func run(_ arguments: [String], environment: [String: String] = [:]) throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, arguments, environment: environment)
    }

    @Test("`classify --jsonl` answers each picture of a folder, with SHA-256 digests, and of a tar archive")
    func foldersAndArchivesGiveEachPictureOnceWithItsDigest() throws {
        let folder = try pictures()
        defer { try? FileManager.default.removeItem(at: folder) }
        let photos = folder.appendingPathComponent("photos")
        let found = try lines(try run(["classify", "--jsonl", photos.path]).text)
        #expect(found.count == 5, "the text is no picture")
        for line in found {
            let name = line.file.split(separator: "/").last.map(String.init) ?? ""
            #expect(line.classifications?.first?.label == digits[name], "\(line.file)")
            let sum = try Shell.run("sha256sum", [line.file]).text.prefix(64)
            #expect(line.digest == "sha256:\(sum)")
        }
        // The formats of tar: ustar, GNU's long names, pax.
        let long = String(repeating: "long-", count: 40)
        try FileManager.default.moveItem(
            at: photos.appendingPathComponent("inner"), to: photos.appendingPathComponent(long))
        for format in ["ustar", "gnu", "pax"] {
            let archive = folder.appendingPathComponent("\(format).tar").path
            let names = format == "ustar" ? ["photos/" + (digits.keys.sorted()[1])] : ["photos"]
            let tar = try Shell.run("tar", ["--format=\(format)", "-cf", archive, "-C", folder.path] + names)
            #expect(tar.status == 0, "\(tar.errors)")
            let members = try lines(try run(["classify", "--jsonl", archive]).text)
            #expect(members.count == (format == "ustar" ? 1 : 5), "\(format)")
            for line in members {
                #expect(line.file.hasPrefix(archive + "/photos/"))
                let name = line.file.split(separator: "/").last.map(String.init) ?? ""
                #expect(line.classifications?.first?.label == digits[name], "\(line.file)")
            }
        }
        let wrong = folder.appendingPathComponent("wrong.tar")
        try Data(repeating: 7, count: 2048).write(to: wrong)
        let refused = try run(["classify", "--jsonl", wrong.path])
        #expect(refused.status == 1 && refused.errors.contains("is not a tar archive"), "\(refused.errors)")
    }

    @Test("the three shards of a folder are disjoint and hold all its pictures; a wrong shard is refused")
    func shardsAreDisjointAndTogetherAll() throws {
        let folder = try pictures()
        defer { try? FileManager.default.removeItem(at: folder) }
        let photos = folder.appendingPathComponent("photos").path
        let all = try lines(try run(["classify", "--jsonl", photos]).text).map(\.file)
        let parts = try (0..<3).map {
            try lines(try run(["classify", "--jsonl", "--shard", "\($0)/3", photos]).text).map(\.file)
        }
        #expect(parts.flatMap { $0 }.sorted() == all.sorted())
        let second = try run(
            ["classify", "--jsonl", "--shards", "3", photos], environment: ["JOB_COMPLETION_INDEX": "1"])
        #expect(try lines(second.text).map(\.file) == parts[1])
        for wrong in ["3/3", "-1/3", "1", "a/b", "0/0", "1/2/3", "99999999999999999999/3"] {
            let refused = try run(["classify", "--jsonl", "--shard=\(wrong)", photos])
            #expect(refused.status == 2 && refused.errors.contains("--shard"), "\(wrong): \(refused.errors)")
        }
        #expect(try run(["classify", "--jsonl", "--shards", "3", photos]).status == 2, "no JOB_COMPLETION_INDEX")
        let beyond = try run(
            ["classify", "--jsonl", "--shards", "3", photos], environment: ["JOB_COMPLETION_INDEX": "3"])
        #expect(beyond.status == 2, "\(beyond.errors)")
    }

    @Test("`--resume` skips answered pictures, and answers new and changed ones and a line cut short")
    func resumeSkipsWhatIsAnsweredAndRedoesWhatChanged() throws {
        let folder = try pictures()
        defer { try? FileManager.default.removeItem(at: folder) }
        let photos = folder.appendingPathComponent("photos"), file = folder.appendingPathComponent("answers.jsonl").path
        func text() throws -> String { try String(contentsOfFile: file, encoding: .utf8) }
        #expect(try run(["classify", "--jsonl", "--resume", file, photos.path]).status == 0)
        let first = try text()
        #expect(try lines(first).count == 5)
        #expect(try run(["classify", "--jsonl", "--resume", file, photos.path]).status == 0)
        #expect(try text() == first, "nothing is answered twice")
        // A changed picture, and a new one.
        let changed = try #require(try lines(first).first { $0.file.hasSuffix("seven.png") }).file
        try FileManager.default.removeItem(atPath: changed)
        try FileManager.default.copyItem(atPath: examples.appendingPathComponent("three.png").path, toPath: changed)
        try FileManager.default.copyItem(
            at: examples.appendingPathComponent("seven.png"), to: photos.appendingPathComponent("new.png"))
        #expect(try run(["classify", "--jsonl", "--resume", file, photos.path]).status == 0)
        let after = try lines(try text())
        #expect(after.count == 6 && Set(after.map(\.file)).count == 6)
        #expect(after.first { $0.file == changed }?.classifications?.first?.label == "3")
        #expect(after.first { $0.file.hasSuffix("new.png") }?.classifications?.first?.label == "7")
        // A line that was cut by a kill is written again.
        let whole = try text()
        try (whole + "{\"file\":\"\(photos.path)").write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try run(["classify", "--jsonl", "--resume", file, photos.path]).status == 0)
        #expect(try text() == whole)
    }

    @Test("`--resume` refuses a file with answers of another model or other settings, or of another kind")
    func answersOfAnotherModelOrOtherSettingsOrAnotherFileAreLeftAlone() throws {
        let folder = try pictures()
        defer { try? FileManager.default.removeItem(at: folder) }
        let photos = folder.appendingPathComponent("photos").path,
            file = folder.appendingPathComponent("answers.jsonl").path
        let models = folder.appendingPathComponent("models")
        try FileManager.default.copyItem(at: SharedData.packageRoot.appendingPathComponent("models"), to: models)
        let usual = ["classify", "--jsonl", "--resume", file, "--models", models.path, photos]
        #expect(try run(usual).status == 0)
        let first = try Data(contentsOf: URL(fileURLWithPath: file))
        func refuses(_ arguments: [String], _ what: Comment) throws {
            let result = try run(arguments)
            #expect(
                result.status == 2 && result.errors.contains("another model or of other settings"),
                "\(what): \(result.errors)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == first, what)
        }
        for more in [["--top", "2"], ["--threshold", "0.5"], ["--crop", "fill"], ["--orientation", "6"]] {
            try refuses(usual + more, "\(more)")
        }
        let labels = models.appendingPathComponent("digits/labels.txt")
        let json = models.appendingPathComponent("digits/model.json")
        let changed = FileManager.default.fileExists(atPath: labels.path) ? labels : json
        let before = try String(contentsOf: changed, encoding: .utf8)
        try (before + "\n").write(to: changed, atomically: true, encoding: .utf8)
        try refuses(usual, "another label file")
        try before.write(to: changed, atomically: true, encoding: .utf8)
        #expect(try run(usual).status == 0, "the same model again")
        for foreign in ["a picture\n", "no line feed", "{\"picture\": 1}\n", "{\"file\": \"x\"}\n"] {
            try foreign.write(toFile: file, atomically: true, encoding: .utf8)
            let result = try run(usual)
            #expect(result.status == 2, "\(foreign): \(result.errors)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == foreign)
        }
    }

    /// Embeddings as NPY: row n belongs to line n.
    @Test("`embed --jsonl --npy` writes a row per picture, NaN for a failure; `detect --jsonl` writes lines")
    func detectionsAndEmbeddingsAreLinesToo() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-bulk-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations")
        let names = (0..<6).map { fixtures.appendingPathComponent("picture\($0).png").path }
        let broken = folder.appendingPathComponent("broken.png")
        try "no picture".write(to: broken, atomically: true, encoding: .utf8)
        let list = folder.appendingPathComponent("list")
        try ([names[0], broken.path] + names.dropFirst()).joined(separator: "\n").write(
            to: list, atomically: true, encoding: .utf8)
        let file = folder.appendingPathComponent("answers.jsonl").path,
            npy = folder.appendingPathComponent("vectors.npy")
        let result = try run([
            "embed", "--jsonl", "--resume", file, "--npy", npy.path, "--models", fixtures.path, "--model", "embedder",
            list.path,
        ])
        #expect(result.status == 1, "one failed: \(result.errors)")
        let bytes = try Data(contentsOf: npy)
        #expect(bytes.count == 128 + 7 * 32 * 4)
        #expect(String(decoding: bytes.prefix(128), as: UTF8.self).contains("(7, 32)"))
        let values = bytes.dropFirst(128).withUnsafeBytes { raw in
            (0..<7 * 32).map { raw.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
        }
        let expected = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: fixtures.appendingPathComponent("expected.json")))
                as? [String: Any])
        let cases = try #require(expected["embeddings"] as? [[String: Any]])
        #expect(values[32..<64].allSatisfy { $0.isNaN }, "the row of the picture that failed")
        for (row, one) in zip([0, 2, 3, 4, 5, 6], cases) {
            let vector = try #require(one["vector"] as? [Double])
            let length = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
            for (index, value) in vector.enumerated() {
                #expect(abs(Double(values[row * 32 + index]) - value / length) < 1e-4, "row \(row)")
            }
        }
        #expect(try run(["embed", "--jsonl", "--npy", npy.path, list.path]).status == 2, "rows of no file")
        let boxes = try run([
            "detect", "--jsonl", "--models",
            SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/detectors/case00").path,
            examples.appendingPathComponent("coreml").path, list.path,
        ])
        let found = boxes.text.split(separator: "\n")
        #expect(
            found.count >= 7 && found.filter { $0.contains("\"detections\":") }.count == found.count - 1,
            "\(boxes.errors)")
        for command in ["segment", "keypoints"] {
            let none = try run([
                command, "--jsonl", "--models", fixtures.appendingPathComponent("embedder").path, list.path,
            ])
            #expect(none.status == 1 && none.errors.contains("model"), "\(none.errors)")
        }
    }

    /// The expected numbers come from the fixtures' makers (`make-export-fixtures`, `make-family-fixtures`).
    @Test("`segment --jsonl` writes segments with their mask, `keypoints --jsonl` the points, a picture a line")
    func segmentsAndKeypointsAreLinesToo() throws {
        let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures")
        func expected(_ folder: String, _ name: String) throws -> [String: Any] {
            let text = try Data(contentsOf: fixtures.appendingPathComponent("\(folder)/expected.json"))
            let all = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
            return try #require(all[name] as? [String: Any])
        }
        func answers(_ command: String, _ models: String, _ arguments: [String] = []) throws -> [[String: Any]] {
            let picture = fixtures.appendingPathComponent("\(models.prefix { $0 != "/" })/picture.png").path
            let result = try Shell.run(
                Daemon.binary.path,
                [command, "--jsonl", "--models", fixtures.appendingPathComponent(models).path] + arguments,
                input: Data("\(picture)\n/there/is/no.png\n".utf8))
            #expect(result.status == 1, "the second picture is not there: \(result.errors)")
            let found = try result.text.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
            #expect(found.map { $0["file"] as? String } == [picture, "/there/is/no.png"])
            #expect(found.last?["error"] is String && found.last?["code"] is String, "\(result.text)")
            return found
        }
        let areas = try #require(try expected("exports", "segformer")["areas"] as? [String: Double])
        let segmented = try #require(try answers("segment", "exports/segformer").first)
        let segments = try #require(segmented["segments"] as? [[String: Any]])
        let found = segments.map { ($0["label"] as? String ?? "", $0["area"] as? Double ?? -1) }
        #expect(Dictionary(uniqueKeysWithValues: found) == areas)
        let mask = try #require((segmented["mask"] as? [String: String])?["b64"])
        #expect(Data(base64Encoded: mask)?.dropFirst().prefix(3) == Data("PNG".utf8))

        let wanted = try #require(try expected("families", "face_mesh")["points"] as? [[Double]])
        let pointed = try #require(try answers("keypoints", "families", ["--model", "face_mesh"]).first)
        let points = try #require(pointed["keypoints"] as? [[String: Any]])
        #expect(points.count == 468 && points.count == wanted.count)
        for (one, other) in zip(points, wanted) {
            for (name, value) in zip(["x", "y"], other) {
                #expect(abs((one[name] as? Double ?? -1e9) - value) < 0.01)
            }
        }
    }

    @Test("`ocelli check --against` reads the answers of `classify --jsonl` as expectations")
    func checkReadsWhatItWrites() throws {
        let folder = try pictures()
        defer { try? FileManager.default.removeItem(at: folder) }
        let photos = folder.appendingPathComponent("photos"), file = folder.appendingPathComponent("answers.jsonl").path
        try "no picture".write(to: photos.appendingPathComponent("broken.png"), atomically: true, encoding: .utf8)
        #expect(try run(["classify", "--jsonl", "--resume", file, photos.path]).status == 1)
        let digits = SharedData.packageRoot.appendingPathComponent("models/digits").path
        let good = try run(["check", digits, "--against", file, "--at-least", "1"])
        #expect(good.status == 0 && good.text.contains("5"), "\(good.text)\(good.errors)")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try text.replacing("\"label\":\"7\"", with: "\"label\":\"8\"").write(
            toFile: file, atomically: true, encoding: .utf8)
        #expect(try run(["check", digits, "--against", file, "--at-least", "1"]).status == 1)
    }

    @Test("`ocelli ready` succeeds for a ready daemon, and fails for an unknown model and a closed port")
    func readyAsksTheDaemon() throws {
        let daemon = try Daemon()
        defer { daemon.stop() }
        let yes = try Shell.run(Daemon.binary.path, ["ready", daemon.url])
        #expect(yes.status == 0 && yes.text == "ready\n")
        let no = try Shell.run(Daemon.binary.path, ["ready", daemon.url + "/v1/models/none"])
        #expect(no.status == 1 && no.errors.contains("404"))
        let unreachable = try Shell.run(Daemon.binary.path, ["ready", "127.0.0.1:1"])
        #expect(unreachable.status == 1 && unreachable.errors.contains("127.0.0.1:1"), "\(unreachable.errors)")
    }
}
