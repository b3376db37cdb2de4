import JSON
import Rollout
import Testing

/// Answers in the formats of the routes and of `--jsonl`.
@Suite struct AnswerReaderTests {
    private func read(_ text: String) throws -> ComparableAnswer {
        try AnswerReader(readMask: { (_) throws(AnswerReader.Problem) in
            [1: RunMask(width: 2, height: 1, counts: [1, 1])]
        }).answer(JSONTree.read(Array(text.utf8), .json).value)
    }

    private static let image =
        #""image": {"format": "jpeg", "width": 40, "height": 30, "displayed": {"width": 30, "height": 50}}"#

    @Test("answers of every kind are read: classes, boxes, keypoints, embedding, text, error, segments, outputs")
    func eachRoutesAnswer() throws {
        #expect(
            try read(
                #"{"file": "a.jpg", "classifications": [{"index": 286, "label": "cat", "confidence": 0.804}, {"index": 1, "label": "x", "confidence": 0}]}"#
            )
                == .classes([
                    .init(index: 286, label: "cat", confidence: 0.804), .init(index: 1, label: "x", confidence: 0),
                ]))
        var box = ComparableAnswer.FoundBox(label: "face", confidence: 0.5, x: 1.5, y: 2, width: 3, height: 4)
        box.points = [.init(x: 1, y: 2), .init()]
        box.mask = RunMask(width: 7, height: 5, counts: [6, 3, 2, 6, 6, 5, 4, 3])
        #expect(
            try read(
                """
                {"detections": [{"index": 0, "label": "face", "confidence": 0.5, "box": {"x": 1.5, "y": 2, "width": 3, "height": 4},
                "keypoints": [{"name": "eye", "x": 1, "y": 2}, null], "mask": {"size": [5, 7], "counts": "63234ONN"}}], \(Self.image)}
                """) == .boxes([box], side: 50))
        box = ComparableAnswer.FoundBox(label: "ship", confidence: 0.5, x: 0, y: 0, width: 4, height: 4)
        box.corners = [.init(x: 2, y: 0), .init(x: 4, y: 2), .init(x: 2, y: 4), .init(x: 0, y: 2)]
        let ship =
            #"{"label": "ship", "confidence": 0.5, "box": {"x": 0, "y": 0, "width": 4, "height": 4}, "angle": 0.7854, "points": "#
        let corners = #"[{"x": 2, "y": 0}, {"x": 4, "y": 2}, {"x": 2, "y": 4}, {"x": 0, "y": 2}]"#
        #expect(try read("{\"detections\": [\(ship)\(corners)}], \(Self.image)}") == .boxes([box], side: 50))
        #expect(throws: AnswerReader.Problem("\"points\" of a detection are not four corners")) {
            try read("{\"detections\": [\(ship)[{\"x\": 2, \"y\": 0}]}], \(Self.image)}")
        }
        #expect(
            try read(#"{"keypoints": [null, {"x": 3, "y": 4.5}], "image": {"width": 9, "height": 7}}"#)
                == .points([.init(), .init(x: 3, y: 4.5)], side: 9))
        #expect(try read(#"{"embedding": [1, 0.5], "dimension": 2}"#) == .embedding([1, 0.5]))
        #expect(
            try read(#"{"text": "A b\nC", "lines": [{"text": "A b"}, {"text": "C"}], "skipped": 1}"#) == .text("A b\nC")
        )
        #expect(try read(#"{"text": "", "lines": []}"#) == .text(""))
        #expect(throws: AnswerReader.Problem("expected text in \"text\", found nothing")) {
            try read(#"{"lines": []}"#)
        }
        #expect(
            try read(#"{"file": "a", "error": "it is broken", "code": "invalid_image"}"#)
                == .failure(code: "invalid_image", message: "it is broken"))
        #expect(
            try read(#"{"segments": [{"index": 1, "label": "road", "area": 1}], "mask": {"b64": "AAAA"}}"#)
                == .segments([.init(label: "road", mask: RunMask(width: 2, height: 1, counts: [1, 1]))]))
        #expect(
            try read(#"{"outputs": {"a": 1, "b": "t", "c": {"x": 0.5}, "d": [[1, 2, 3], [4, 5, 6]]}}"#)
                == .values([
                    "a": .number(1), "b": .text("t"), "c": .labels(["x": 0.5]),
                    "d": .array(shape: [2, 3], [1, 2, 3, 4, 5, 6]),
                ]))
    }

    @Test(
        "a damaged answer is refused with a reason",
        arguments: [
            ("[]", "expected an object, found an array of 0"),
            (
                "{}",
                "has no answer: expected \"classifications\", \"detections\", \"segments\", \"keypoints\", \"embedding\", "
                    + "\"lines\" with \"text\", \"outputs\" or \"error\""
            ),
            (#"{"classifications": {}}"#, "\"classifications\" is not an array"),
            (#"{"classifications": [1]}"#, "\"classifications\" has the number 1"),
            (
                #"{"classifications": [{"index": 1, "label": 5, "confidence": 1}]}"#,
                "expected text in \"label\", found the number 5"
            ),
            (
                #"{"classifications": [{"index": 1, "label": "a"}]}"#,
                "expected a number in \"confidence\", found nothing"
            ),
            (#"{"detections": []}"#, "has no \"image\" with its size"),
            (#"{"detections": [], "image": {"width": 0, "height": 0}}"#, "has a picture without pixels"),
            (#"{"detections": [{"label": "a"}], "image": {"width": 1, "height": 1}}"#, "a detection has no \"box\""),
            (#"{"embedding": [null]}"#, "\"embedding\" has null"),
            (
                #"{"segments": [{"index": 2, "label": "a"}], "mask": {"b64": "AAAA"}}"#,
                "segment \"a\" has no mask: neither run lengths nor pixels of the PNG in \"mask\""
            ),
            (#"{"segments": [], "mask": {"b64": "A"}}"#, "\"b64\" is not base64"),
            (
                #"{"segments": [{"index": 2, "label": "a", "mask": {"size": [1, 1], "counts": "z"}}]}"#,
                "a mask is not of the form {\"size\": [height, width], \"counts\": \"…\"}"
            ),
            (#"{"outputs": {"y": [[1], [1, 2]]}}"#, "output \"y\" has rows of different lengths"),
            (#"{"outputs": {"y": [1, [1]]}}"#, "output \"y\" has rows of different lengths"),
            (#"{"outputs": {"y": [1, "a"]}}"#, "output \"y\" is not an array of numbers"),
            (#"{"outputs": {"y": [[], [1]]}}"#, "output \"y\" has rows of different lengths"),
            (#"{"outputs": {"y": {"b64": "AA"}}}"#, "output \"y\" cannot be compared: \"b64\" is \"AA\""),
            (#"{"outputs": {"y": true}}"#, "output \"y\" cannot be compared: it is true"),
        ])
    func damagedAnswersAreRefused(_ text: String, _ reason: String) throws {
        do {
            let answer = try read(text)
            Issue.record("\(text) was read as \(answer)")
        } catch let problem as AnswerReader.Problem {
            #expect(problem.reason == reason)
        }
    }

    @Test("a PNG mask is refused by a reader that has no mask decoder")
    func aPNGIsRefusedWhereNobodyReadsIt() throws {
        let value = try JSONTree.read(Array(#"{"segments": [], "mask": {"b64": "AAAA"}}"#.utf8), .json).value
        #expect(throws: AnswerReader.Problem("has a mask as a PNG, which cannot be compared here")) {
            try AnswerReader().answer(value)
        }
    }
}
