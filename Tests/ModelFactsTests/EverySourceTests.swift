import FileFormats
import Foundation
import ModelFacts
import TestSupport
import Testing

/// Each kind of source by itself, with a source that agrees, with one that differs, and broken.
@Suite struct EverySourceTests {
    /// A kind of source: a file with two classes, cat and dog, or with the preparation of pictures, and its broken
    /// form.
    struct Kind: Sendable, CustomTestStringConvertible {
        let name: String
        /// True for labels, false if the kind has only the normalization.
        let saysLabels: Bool
        let read: @Sendable (_ text: String, _ name: String) -> FactSheet
        /// The intact text: with `cat` and `dog`, or with a deviation of 0.5 that can be replaced.
        let whole: String
        /// The text without its last part, and words of the problem.
        let broken: String, words: String

        var testDescription: String { name }
    }

    private static func onnx(_ names: String) -> String {
        // Protobuf as text of one byte a character: metadata_props with the key "names" and a task.
        func field(_ number: Int, _ text: String) -> String {
            let key = Unicode.Scalar(UInt8(number << 3 | 2)), count = Unicode.Scalar(UInt8(text.utf8.count))
            return String(Character(key)) + String(Character(count)) + text
        }
        return field(14, field(1, "names") + field(2, names)) + field(14, field(1, "task") + field(2, "classify"))
    }

    static let kinds: [Kind] = [
        Kind(
            name: "config.json", saysLabels: true, read: { HuggingFaceReader.config(Array($0.utf8), source: $1) },
            whole: #"{"id2label": {"0": "cat", "1": "dog"}}"#, broken: #"{"id2label": {"0": "cat", "1":"#,
            words: "line 1, column 31"),
        Kind(
            name: "preprocessor_config.json", saysLabels: false,
            read: { HuggingFaceReader.preprocessor(Array($0.utf8), source: $1) },
            whole:
                #"{"image_processor_type": "ViTImageProcessor", "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}"#,
            broken: #"{"image_processor_type": "ViTImageProcessor", "image_mean": [0.5,"#, words: "line 1, column 66"),
        Kind(
            name: "config.json of timm", saysLabels: true, read: { TimmReader.config(Array($0.utf8), source: $1) },
            whole: #"{"label_names": ["cat", "dog"], "pretrained_cfg": {"input_size": [3, 8, 8]}}"#,
            broken: #"{"label_names": ["cat", "dog"], "pretrained_cfg": {"input_size": [3, 8]}}"#,
            words: "pretrained_cfg.input_size: expected [channels, height, width]"),
        Kind(
            name: "environment.json", saysLabels: true,
            read: { RoboflowReader.environment(Array($0.utf8), source: $1) },
            whole: #"{"CLASS_MAP": {"0": "cat", "1": "dog"}, "PREPROCESSING": {"auto-orient": {}}}"#,
            broken: #"{"CLASS_MAP": {"0": "cat", "2": "dog"}, "PREPROCESSING": {"auto-orient": {}}}"#,
            words: "CLASS_MAP: names class 2, but has 2 names"),
        Kind(
            name: "metadata.yaml", saysLabels: true, read: { UltralyticsReader.yaml(Array($0.utf8), source: $1) },
            whole: "task: classify\nnames:\n  0: cat\n  1: dog\n",
            broken: "task: classify\nnames:\n  0: [cat\n  1: dog\n",
            words: "line 3: unterminated value that begins with ["),
        Kind(
            name: "metadata_props", saysLabels: true,
            read: {
                ONNXReader.read(ByteSource($0.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }), name: $1)
            },
            whole: onnx("{0: 'cat', 1: 'dog'}"), broken: onnx("{0: 'cat', 1: 'dog"), words: "names: is not a literal"),
        Kind(
            name: "model_info", saysLabels: true, read: { OpenVINOReader.read(Array($0.utf8), name: $1) },
            whole: "<net><rt_info><model_info><labels value=\"cat dog\"/></model_info></rt_info></net>",
            broken: "<net><rt_info><model_info><labels value=\"cat dog\"/></model_info></rt_info>",
            words: "ends within \"net\""),
    ]

    private func difference(_ kind: Kind, _ text: String) -> String {
        kind.saysLabels
            ? text.replacing("dog", with: "fox") : text.replacing("\"image_std\": [0.5", with: "\"image_std\": [0.25")
    }

    @Test("each kind of metadata file by itself gives its labels or normalization without a problem", arguments: kinds)
    func alone(_ kind: Kind) {
        let sheet = kind.read(kind.whole, "a")
        #expect(sheet.problems.isEmpty && sheet.disagreements.isEmpty, "\(sheet.problems)")
        if kind.saysLabels {
            #expect(sheet.labels?.value == ["cat", "dog"] && sheet.labels?.source.hasSuffix("a") == true)
        } else {
            #expect(sheet.normalization?.value.std == [0.5, 0.5, 0.5] && sheet.normalization?.source == "a")
        }
    }

    /// Two files of a kind, and one of each kind with another kind: the first counts, and a difference is reported.
    @Test("of two metadata files the first counts, and a difference is reported", arguments: kinds)
    func besideAnother(_ kind: Kind) {
        let first = kind.read(kind.whole, "a"), same = kind.read(kind.whole, "b")
        #expect(FactSheet.merged([first, same]).disagreements.isEmpty)
        let other = kind.read(difference(kind, kind.whole), "b")
        let merged = FactSheet.merged([first, other])
        #expect(merged.labels == first.labels && merged.normalization == first.normalization)
        #expect(merged.disagreements.map(\.subject) == [kind.saysLabels ? "labels" : "normalization"])
        #expect(merged.disagreements.first?.sentence.hasSuffix("a wins") == true, "\(merged.disagreements)")
        guard kind.saysLabels else { return }
        for neighbour in Self.kinds where neighbour.saysLabels && neighbour.name != kind.name {
            #expect(
                !FactSheet.merged([first, neighbour.read(neighbour.whole, "b")]).disagreements.contains {
                    $0.subject == "labels"
                }, "\(neighbour.name)")
            let told = FactSheet.merged([first, neighbour.read(difference(neighbour, neighbour.whole), "b")])
            #expect(
                told.labels == first.labels && told.disagreements.contains { $0.subject == "labels" },
                "\(neighbour.name)")
        }
    }

    @Test("a broken metadata file is reported with its place, and other files still count", arguments: kinds)
    func broken(_ kind: Kind) {
        let sheet = kind.read(kind.broken, "a")
        let reasons = sheet.problems.map { "\($0.source): \($0.reason)" }.joined(separator: "\n")
        #expect(reasons.contains(kind.words) && sheet.problems.first?.source.hasSuffix("a") == true, "\(reasons)")
        // The other file still counts.
        let neighbour = HuggingFaceReader.config(Array(#"{"id2label": {"0": "cat", "1": "dog"}}"#.utf8), source: "b")
        #expect(FactSheet.merged([sheet, neighbour]).labels != nil)
        // Cut off anywhere, it is a problem or gives fewer facts, but never crashes.
        for count in 0..<kind.whole.count { _ = kind.read(String(kind.whole.prefix(count)), "a") }
    }
}
