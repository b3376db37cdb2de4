import Foundation
import InferenceService
internal import ServiceCore
internal import ServicePlanning
import TestSupport
import Testing

/// The lines of a tokens file; mistakes are reported with their line and without the token.
@Suite struct TokenFileTests {
    private static let secret = "s3cr3t-s3cr3t-s3cr3t"

    private func read(_ text: String) -> TokenFile { TokenFile(text: text, name: "tokens") }

    @Test("a line has classes and a token; remarks and blank lines are ignored")
    func aLineIsClassesAndAToken() throws {
        let file = read("# a remark\n\n  infer,read\t\(Self.secret)\r\nall \(Self.secret)2\n")
        #expect(file.problems == [])
        #expect(file.entries.map(\.classes) == [[.infer, .read], Set(AccessClass.allCases)])
        #expect(file.entries.map { String(decoding: $0.token, as: UTF8.self) } == [Self.secret, Self.secret + "2"])
    }

    @Test(
        "a mistake in a tokens file is described without the token",
        arguments: [
            ("infer", "line 1: expected classes, a space and a token, found 1 words"),
            ("infer a b", "found 3 words"),
            ("infer fifteen-letters", "at least 16"),
            ("\n\ninfer \(secret)\"", "line 3"),
            ("infer,write \(secret)", "\"write\" is not a class: expected infer, read, admin, teach or all"),
            ("Infer \(secret)", "\"Infer\" is not a class"),
            ("infer: \(secret)", "\"infer:\" is not a class"),
            ("", "contains no token"),
            ("# only a remark\n", "contains no token"),
        ])
    func aMistakeIsNamed(_ text: String, _ words: String) {
        let file = read(text)
        #expect(file.problems.count == 1, "\(file.problems)")
        #expect(file.problems.first?.contains(words) == true, "\(file.problems)")
        #expect(!file.problems.joined().contains(Self.secret), "a token is in the message")
    }

    @Test("a byte order mark at the start of a tokens file is ignored")
    func aByteOrderMarkIsNotPartOfTheFirstLine() {
        #expect(read("\u{FEFF}infer \(Self.secret)").problems == [])
        #expect(read("\u{FEFF}# a remark\ninfer \(Self.secret)").problems == [])
    }

    @Test("all mistakes of a tokens file are reported at once")
    func everyMistakeIsNamedAtOnce() {
        #expect(read("infer\nread short\nnobody \(Self.secret)").problems.count == 3)
    }

    @Test("a token with control characters or non-ASCII letters is refused")
    func bytesThatAreNotTextAreRefused() throws {
        let file = read("infer \(Self.secret)\u{7}\u{7}")
        #expect(file.problems.count == 1)
        #expect(read("infer " + String(repeating: "ü", count: 20)).problems.count == 1)
    }

    @Test("a tokens file that all users may read raises a warning")
    func aFileThatOthersMayReadIsWarnedOf() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("tokens-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "infer \(Self.secret)".write(toFile: path, atomically: true, encoding: .utf8)
        for (mode, warns) in [(0o644, true), (0o640, false), (0o600, false)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let file = TokenFile(path: path)
            #expect(file.problems == [])
            #expect(!file.warnings.isEmpty == warns, "\(String(mode, radix: 8))")
        }
    }

    @Test("a tokens file that is missing or a folder is reported with the reason")
    func aFileThatCannotBeReadSaysWhy() {
        #expect(TokenFile(path: AbsentPath.path + "/tokens").problems.first?.contains("no such file") == true)
        #expect(TokenFile(path: "/tmp").problems.first?.contains("it is a folder") == true)
        #expect(TokenFile(path: AbsentPath.path).entries.isEmpty)
    }
}
