import Calibration
import Testing

/// `calibration.json`: what is written is read, and mistakes are named with their places.
@Suite struct CalibrationTextTests {
    private static let digest = "sha256:" + String(repeating: "0a", count: 32)

    private static func text(
        format: String = "1", model: String = "\"\(digest)\"", pictures: String = "3", temperature: String = "1.7",
        scores: String = "[0, 0.25, 1]", more: String = ""
    ) -> [UInt8] {
        Array(
            "{\"format\": \(format), \"model\": \(model), \"pictures\": \(pictures), \"temperature\": \(temperature), \"scores\": \(scores)\(more)}"
                .utf8)
    }

    private static func mistakes(_ text: [UInt8]) -> [String] {
        do throws(ClassifierCalibration.Mistakes) {
            _ = try ClassifierCalibration(text: text)
            return []
        } catch {
            return error.list
        }
    }

    @Test("a file by hand is read")
    func read() throws {
        let calibration = try ClassifierCalibration(text: Self.text())
        #expect(calibration.model == Self.digest && calibration.pictures == 3)
        #expect(calibration.temperature == 1.7 && calibration.scores == [0, 0.25, 1])
    }

    @Test("what is written is read without a difference")
    func written() throws {
        var answers = LabelledAnswers(classes: 2)
        for index in 1...100 {
            let confidence = Float(index) / 101
            answers.take([confidence, 1 - confidence], right: index % 2)
        }
        let calibration = try #require(ClassifierCalibration(model: Self.digest, by: answers))
        #expect(try ClassifierCalibration(text: calibration.text) == calibration)
    }

    @Test(
        "mistakes are named with their places",
        arguments: [
            (
                text(format: "2"),
                "\"format\": expected 1, the only one that this version of Ocelli reads, found the number 2"
            ),
            (
                text(format: "\"1\""),
                "\"format\": expected 1, the only one that this version of Ocelli reads, found \"1\""
            ),
            (
                text(model: "\"abc\""),
                "\"model\": expected \"sha256:\" and 64 hexadecimal digits in lower case, found \"abc\""
            ),
            (text(pictures: "4"), "\"pictures\": expected the number of scores, 3, found the number 4"),
            (text(temperature: "0"), "\"temperature\": expected a number from 0.05 to 100.0, found the number 0"),
            (text(temperature: "null"), "\"temperature\": expected a number from 0.05 to 100.0, found null"),
            (text(scores: "[]"), "\"scores\": expected an array of 1 to 500000 numbers, found an array of 0"),
            (text(scores: "[0, 2, 3]"), "\"scores[1]\": expected a number from 0 to 1, found the number 2"),
            (
                text(scores: "[0, 0.5, 0.25]"),
                "\"scores[2]\": expected at least the number before it, found the number 0.25"
            ),
            (
                text(more: ", \"labels\": 1"),
                "\"labels\": unknown; known are format, model, pictures, temperature, scores"
            ),
            (Array("[]".utf8), "expected an object, found an array of 0"),
        ])
    func mistakes(_ text: [UInt8], _ expected: String) { #expect(Self.mistakes(text) == [expected]) }

    @Test("a member that is missing or given twice, and a text that ends early, are refused")
    func damaged() {
        #expect(Self.mistakes(Array("{\"format\": 1}".utf8)).contains("\"model\": is missing"))
        #expect(!Self.mistakes(Self.text(more: ", \"pictures\": 3")).isEmpty)
        let text = Self.text()
        for length in 0..<text.count {
            let mistakes = Self.mistakes(Array(text[..<length]))
            #expect(mistakes.count == 1 && mistakes[0].hasPrefix("is not valid JSON: "))
        }
    }
}
