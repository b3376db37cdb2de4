import Foundation
import TestSupport
import Testing

/// `ocelli classify --jsonl` and `ocelli ready`.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct BulkTests {
    private let examples = SharedData.packageRoot.appendingPathComponent("examples")

    /// The digit that each example shows, by its file's name.
    private let digits = [
        "seven.png": "7", "three.png": "3", "zero-colours.png": "0", "six-tiny.png": "6", "nine-photo.jpg": "9",
    ]

    private struct Line: Decodable {
        let file: String
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

    @Test func answersComeInTheOrderOfTheListAndErrorsAreLines() throws {
        let names = digits.keys.sorted()
        var list = names.map { examples.appendingPathComponent($0).path }
        list.insert("{\"path\": \"\(examples.appendingPathComponent("three.png").path)\", \"id\": 5}", at: 1)
        list.insert("/there/is/no/such.png", at: 2)
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

    /// Notepad and PowerShell put a byte order mark before a text.
    @Test(arguments: ["%@\r\n", "{\"path\": \"%@\"}\n"])
    func aByteOrderMarkIsNotPartOfTheFirstPath(_ form: String) throws {
        let seven = examples.appendingPathComponent("seven.png").path
        let result = try bulk("\u{FEFF}" + form.replacingOccurrences(of: "%@", with: seven))
        #expect(try lines(result.text).map(\.file) == [seven], "\(result.text)")
        #expect(result.status == 0, "\(result.errors)")
    }

    /// The image has no shell that could redirect the list.
    @Test func listMayBeAFile() throws {
        let seven = examples.appendingPathComponent("seven.png").path
        let list = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString).txt")
        defer { try? FileManager.default.removeItem(at: list) }
        try (seven + "\n").write(to: list, atomically: true, encoding: .utf8)
        for (arguments, input) in [([list.path], ""), (["-"], seven), ([], seven)] {
            let result = try bulk(input, arguments)
            #expect(result.status == 0, "\(arguments): \(result.errors)")
            #expect(try lines(result.text).map { $0.classifications?.first?.label } == ["7"], "\(arguments)")
        }
        let absent = try bulk("", ["/there/is/no/such.txt"])
        #expect(absent.status != 0 && absent.errors.contains("/there/is/no/such.txt"), "\(absent.errors)")
        let folder = try bulk("", [examples.path])
        #expect(folder.status != 0 && folder.errors.contains("cannot be read completely"), "\(folder.errors)")
        #expect(try bulk("", [list.path, seven]).status == 2)
    }

    /// Killed again and again, at any moment, a run answers every line once. (Thousands of short threads, too: one that had
    /// ended before it was given its name once crashed the program.)
    @Test(.enabled(if: LongTests.areAskedFor, Comment(rawValue: LongTests.absence)))
    func killedRunGoesOnWhereItStopped() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-bulk-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let names = digits.keys.sorted()
        let wanted = (0..<3000).map { examples.appendingPathComponent(names[$0 % names.count]).path }
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
        // Not `found == wanted` in the expectation: it would print thousands of paths.
        let isRight = found == wanted
        #expect(isRight, "seed \(seed): \(found.count) answers for \(wanted.count) pictures, or in another order")
    }

    @Test func fileOfAnotherListIsRefused() throws {
        let answers = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString).jsonl")
        defer { try? FileManager.default.removeItem(at: answers) }
        let seven = examples.appendingPathComponent("seven.png").path
        let three = examples.appendingPathComponent("three.png").path
        #expect(try bulk(seven, ["--resume", answers.path]).status == 0)
        let other = try bulk(three + "\n" + seven, ["--resume", answers.path])
        #expect(other.status == 1)
        #expect(other.errors.contains("does not belong to this list"), "\(other.errors)")
        // A line that a kill has cut is written again.
        let whole = try String(contentsOf: answers, encoding: .utf8)
        try (whole + "{\"file\":\"\(three.prefix(4))").write(to: answers, atomically: true, encoding: .utf8)
        #expect(try bulk(seven + "\n" + three, ["--resume", answers.path]).status == 0)
        #expect(try lines(String(contentsOf: answers, encoding: .utf8)).map(\.file) == [seven, three])
    }

    @Test func readyAsksTheDaemon() throws {
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
