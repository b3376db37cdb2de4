import Foundation
import TestSupport
import Testing
import Tools

/// Identifiers, literals and comments of typed clients, made of names that anybody may have chosen.
@Suite struct ClientNamesTests {
    /// Quotes, backslashes, interpolation, ends of comments and strings, line ends of all kinds, bidirectional marks.
    static let hostile =
        "a\"b'\\(exit(1)) */ /* \"\"\" #\n\r\u{0}\u{85}\u{2028}\u{2029}\u{202E}\u{2066}\u{FEFF}${x} 😀\u{E000}"

    @Test(
        "a type is the model's name with an underscore for each character that is no identifier's",
        arguments: [
            ("MobileNetV2", "MobileNetV2"), ("mobilenet_v2_1.0_224_quant", "mobilenet_v2_1_0_224_quant"),
            ("3d-net", "_3d_net"), ("Größe", "Größe"), ("class", "class_"), ("a\u{202E}b", "a_b"), ("x😀", "x_"),
        ])
    func type_isTheName(_ name: String, _ expected: String) {
        for language in ClientLanguage.allCases { #expect(ClientNames(language).type(name) == expected) }
    }

    @Test("types that a client itself needs get an underscore")
    func typesOfTheClient_getAnUnderscore() {
        #expect(ClientNames(.swift).type("Data") == "Data_")
        #expect(ClientNames(.swift).type("-") == "__")
        #expect(ClientNames(.python).type("_json") == "_json_")
        #expect(ClientNames(.python).type("Data") == "Data")
    }

    @Test("members are the features' names; reserved words and doubles get an underscore")
    func members_areTheNames() {
        #expect(
            ClientNames(.swift).members(["x", "x", "a-b", "a.b", "init", "in_", "in", "", "7"]) == [
                "x", "x_", "a_b", "a_b_", "init_", "in_", "in__", "__", "_7",
            ])
        #expect(
            ClientNames(.python).members(["lambda", "float", "init", "__x", "self"]) == [
                "lambda_", "float_", "init", "_x", "self",
            ])
    }

    @Test("labels are cases if each has a letter or a digit; equal ones are one case")
    func labels_areCases() throws {
        let cases = try #require(
            ClientNames(.swift).cases(["Egyptian cat", "dog", "dog", "7 up", "default", "none"]))
        #expect(cases.map(\.name) == ["Egyptian_cat", "dog", "_7_up", "default_", "none_"])
        #expect(cases.map(\.text) == ["Egyptian cat", "dog", "7 up", "default", "none"])
        #expect(ClientNames(.swift).cases(["a", "***"])?.count == nil)
        #expect(ClientNames(.python).cases(["name", "__init__"])?.map(\.name) == ["name_", "init"])
        #expect(ClientNames(.swift).cases([])?.count == nil)
        #expect(ClientNames(.swift).cases((0..<1_000).map { "l\($0)" })?.count == 1_000)
        #expect(ClientNames(.swift).cases((0...1_000).map { "l\($0)" })?.count == nil)
        #expect(ClientNames(.swift).cases([String(repeating: "l", count: 65_537)])?.count == nil)
    }

    @Test("a literal is one line of printable characters, and Python reads the text from it")
    func literals_haveTheText() throws {
        for text in [Self.hostile, "", "plain", "Größe", "猫"] {
            for language in ClientLanguage.allCases {
                let literal = ClientNames(language).literal(text)
                #expect(literal.unicodeScalars.allSatisfy { $0.properties.isAlphabetic || (" "..."~").contains($0) })
            }
            let literal = ClientNames(.python).literal(text)
            let read = try Shell.run(
                "python3",
                ["-c", "import ast, sys; sys.stdout.buffer.write(ast.literal_eval(sys.stdin.read()).encode())"],
                input: Data(literal.utf8))
            #expect(read.status == 0 && read.output == Data(text.utf8), "\(literal): \(read.errors)")
        }
        #expect(ClientNames(.swift).literal(Self.hostile).hasPrefix(#""a\"b'\\(exit(1)) */"#))
        #expect(ClientNames(.swift).literal("\u{202E}\n") == #""\u{202e}\u{a}""#)
    }

    @Test("a comment is one line without ends of comments or strings, of at most 400 characters")
    func comments_areOneLine() {
        let text = ClientNames.comment(Self.hostile)
        #expect(text.unicodeScalars.allSatisfy { (" "..."~").contains($0) }, "\(text)")
        for end in ["*/", "/*", "\"\"\""] { #expect(!text.contains(end), "\(text)") }
        #expect(ClientNames.comment(String(repeating: "x", count: 5_000)).count == 400)
    }
}
