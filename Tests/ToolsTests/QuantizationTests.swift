import Foundation
import TestSupport
import Testing
import Tools

/// Tests the parts of `ocelli quantize`: the choice of pictures, the new model.json, the figures of the report.
@Suite struct QuantizationTests {
    private func folder(_ files: [String: String]) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ocelli-quantize-\(UUID().uuidString)")
        for (name, text) in files {
            let file = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return folder
    }

    // MARK: Pictures

    @Test("calibration pictures are found by file name, with the top folder as their class")
    func picturesAreFoundByNameWithTheirClass() throws {
        var files = Dictionary(uniqueKeysWithValues: (0..<6).map { ("cat/\($0).JPG", "") })
        for name in ["dog/deep/down/a.png", "b.webp", "notes.txt", ".hidden.png", "dog/model.onnx"] { files[name] = "" }
        let folder = try folder(files)
        defer { try? FileManager.default.removeItem(at: folder) }
        let pictures = try CalibrationPictures(folder: folder.path).pictures
        #expect(pictures.count == 8)
        #expect(pictures.filter { $0.folder == "cat" }.count == 6)
        #expect(pictures.first { $0.path.hasSuffix("a.png") }?.folder == "dog")
        #expect(pictures.contains { $0.path.hasSuffix("b.webp") && $0.folder == nil })
    }

    @Test("too few pictures and a missing folder are errors")
    func tooFewPicturesAndNoFolderAreErrors() throws {
        let folder = try folder(["a.png": "", "b.png": ""])
        defer { try? FileManager.default.removeItem(at: folder) }
        let few = #expect(throws: (any Error).self) { try CalibrationPictures(folder: folder.path) }
        #expect("\(few, default: "")".contains("has 2 pictures"))
        let none = #expect(throws: (any Error).self) { try CalibrationPictures(folder: folder.path + "/none") }
        #expect("\(none, default: "")".contains("cannot be read"))
    }

    @Test(
        "no picture is in two parts of the split, and every folder is in the calibration part",
        arguments: [8, 9, 31, 400, 1000], [true, false])
    func noPictureIsInTwoPartsAndEveryFolderHasItsShare(_ count: Int, _ validates: Bool) {
        let all = (0..<count).map { CalibrationPictures.Picture(path: "\($0)", folder: "\($0 * 4 / count)") }
        let parts = CalibrationPictures(all).parts(maximum: 400, validates: validates)
        let used = parts.calibration + parts.validation + parts.comparison
        #expect(used.count == min(count, 400) && Set(used).count == used.count)
        #expect(parts.validation.isEmpty == !validates)
        #expect(parts.comparison.count == min(count, 400) / 4)
        #expect(parts.calibration.count >= used.count / 2)
        #expect(Set(parts.calibration.map(\.folder)).count == 4)
    }

    // MARK: model.json

    @Test("the new model.json changes only the model file and its backend")
    func theManifestKeepsAllButTheModelFile() throws {
        let folder = try folder(["labels.txt": "a\n", "m.tflite": "", "other.txt": ""])
        defer { try? FileManager.default.removeItem(at: folder) }
        let text = """
            {
              // made by hand
              "id": "m", "model": { "file" : "m.tflite", "backend": "tflite", "modes": ["predict"] },
              "outputs": [{ "name": "file", "labels": "labels.txt", "note": "absent.txt" }], // "backend": "tflite"
            }
            """
        let manifest = try QuantizedManifest(text, bundle: folder.path, file: "model.xml")
        #expect(
            manifest.text
                == text.replacingOccurrences(of: "\"m.tflite\"", with: "\"model.xml\"").replacingOccurrences(
                    of: "\"backend\": \"tflite\", \"modes\"", with: "\"backend\": \"openvino\", \"modes\""))
        #expect(manifest.files == ["labels.txt"])
    }

    @Test(
        "a model.json whose model file cannot be replaced is an error",
        arguments: [
            "{}", "[]", "{ \"model\": {} }", "{ \"model\": { \"file\": 3 } }", "nonsense", "",
            // The comment contains text that looks like the key.
            "{ /* \"model\": { \"file\": \"x\" } */ \"model\": { \"file\": \"m.onnx\" } }",
        ])
    func aManifestThatCannotBeChangedIsAnError(_ text: String) throws {
        #expect(throws: (any Error).self) { try QuantizedManifest(text, bundle: "/nowhere", file: "model.xml") }
    }

    @Test("files outside of the bundle are not copied")
    func filesOutsideOfTheBundleAreNotCopied() throws {
        let text = "{ \"model\": { \"file\": \"m.onnx\" }, \"a\": [\"/etc/passwd\", \"../../etc/passwd\", \"\"] }"
        #expect(try QuantizedManifest(text, bundle: "/usr/lib", file: "model.xml").files == [])
    }

    // MARK: Figures

    private func answer(_ label: String?, _ values: [Double], _ milliseconds: UInt64) -> QuantizationReport.Answer {
        var answer = QuantizationReport.Answer()
        answer.label = label
        answer.values = values
        answer.time = milliseconds * 1_000_000
        return answer
    }

    private func report(labels: [String]?, _ pairs: [QuantizationReport.Pair]) -> QuantizationReport {
        var report = QuantizationReport(
            QuantizerProcess.Outcome(layers: 3, float: ["first"], nncf: "3", openvino: "2026"))
        report.name = "m"
        report.labels = labels
        report.pairs = pairs
        report.times = pairs.map { .init(before: $0.before.time, after: $0.after.time) }
        return report
    }

    @Test("the report has the agreement, differences, accuracy and times of the compared pictures")
    func agreementDifferencesAccuracyAndTimesAreOfTheComparedPictures() throws {
        func picture(_ folder: String?) -> CalibrationPictures.Picture { .init(path: "p", folder: folder) }
        let report = report(
            labels: ["cat", "dog"],
            [
                .init(
                    picture: picture("CAT"), before: answer("cat", [0.75, 0.25], 8),
                    after: answer("cat", [0.5, 0.5], 4)),
                .init(picture: picture("1"), before: answer("dog", [0, 1], 9), after: answer("cat", [1, 0], 3)),
                .init(picture: picture("horse"), before: answer("dog", [0, 1], 10), after: answer("dog", [0, 1], 5)),
                .init(picture: picture(nil), before: answer("dog", [0, 1], 7), after: answer("dog", [0, 1], 2)),
            ])
        #expect(report.agreement == 0.75)
        #expect(report.difference.largest == 1 && report.difference.mean == 2.5 / 8)
        let accuracy = try #require(report.accuracy)
        #expect(accuracy == (before: 2, after: 1, of: 2))
        #expect(report.milliseconds == (before: 9, after: 4))
        #expect(report.text.contains("2 of 3 layers") && report.text.contains("75.0%") && report.text.contains("first"))
        let json = try #require(try JSONSerialization.jsonObject(with: Data(report.json.utf8)) as? [String: Any])
        #expect(json["agreement"] as? Double == 0.75 && json["accuracy_after"] as? Double == 0.5)
        #expect(json["float_layers"] as? [String] == ["first"])
    }

    @Test(
        "a result that is not faster is reported as such",
        arguments: [
            (90, "slower than the original on this machine, 0.90 times as fast"),
            (100, "not faster than the original on this machine, 1.00 times as fast"), (110, nil),
        ] as [(UInt64, String?)])
    func aResultThatIsNotFasterIsReported(_ before: UInt64, _ words: String?) throws {
        let pair = QuantizationReport.Pair(
            picture: .init(path: "p", folder: nil), before: answer(nil, [1], before), after: answer(nil, [1], 100))
        let report = report(labels: nil, [pair])
        #expect(report.text.contains(words ?? "1.10 times as fast"), "\(report.text)")
        #expect(report.text.contains("keep the original") == (words != nil))
        let json = try #require(try JSONSerialization.jsonObject(with: Data(report.json.utf8)) as? [String: Any])
        #expect(json["times_as_fast"] as? Double == Double(before) / 100)
    }

    @Test("models without labels are compared by the cosine of their outputs")
    func modelsWithoutLabelsAreComparedByTheCosineOfTheirOutputs() {
        let picture = CalibrationPictures.Picture(path: "p", folder: nil)
        let same = QuantizationReport.Pair(
            picture: picture, before: answer(nil, [1, 2, 2], 1), after: answer(nil, [2, 4, 4], 1))
        let right = QuantizationReport.Pair(
            picture: picture, before: answer(nil, [1, 0], 1), after: answer(nil, [0, 1], 1))
        #expect(abs(report(labels: nil, [same]).agreement - 1) < 1e-12)
        #expect(abs(report(labels: nil, [same, right]).agreement - 0.5) < 1e-12)
        #expect(report(labels: nil, [same]).difference.largest == 1)
        #expect(report(labels: nil, [same]).accuracy == nil)
        let zeros = QuantizationReport.Pair(
            picture: picture, before: answer(nil, [1, 0], 1), after: answer(nil, [0, 0], 1))
        let both = QuantizationReport.Pair(
            picture: picture, before: answer(nil, [0, 0], 1), after: answer(nil, [0, 0], 1))
        #expect(report(labels: nil, [zeros]).agreement == 0 && report(labels: nil, [both]).agreement == 1)
    }
}
