import Foundation
import Inference
internal import Observations
internal import Repository
import Testing

/// Folders with the networks of a reader, as publishers have them.
@Suite struct ReaderFolderTests {
    private static let dictionary = ["ppocr_keys_v1.txt": "a\nb\nc\n"]

    private static func folder(_ names: [String], _ others: [String: String] = dictionary) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try folder.write(Dictionary(uniqueKeysWithValues: names.map { ($0, "") }).merging(others) { $1 })
        return folder
    }

    @Test(
        "networks are found by the words in their names",
        arguments: [
            (["ch_PP-OCRv4_det_infer.onnx", "ch_PP-OCRv4_rec_infer.onnx"], nil),
            (
                [
                    "PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx", "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
                ], "ch_ppocr_mobile_v2.0_cls_mobile.onnx"
            ),
            (
                [
                    "PP-OCRv5_mobile_det/inference.onnx", "PP-OCRv5_mobile_rec/inference.onnx",
                    "PP-LCNet_x0_25_textline_ori/inference.onnx",
                ], "PP-LCNet_x0_25_textline_ori/inference.onnx"
            ),
            (["det/inference.pdmodel", "rec/inference.pdmodel"], nil),
            (["det/det.onnx", "rec/rec.onnx", "cls/cls.onnx"], "cls/cls.onnx"),
        ] as [([String], String?)])
    func byTheirNames(_ names: [String], _ turn: String?) throws {
        let folder = try Self.folder(names), path = folder.url.path
        let reader = try #require(try ModelBundle(path: path).reader)
        #expect(reader.find.file == names[0])
        #expect(reader.read.file == names[1])
        #expect(reader.turn?.file == turn)
        #expect(reader.read.dictionary?.texts == ["a", "b", "c"])
        // RapidOCR's numbers.
        #expect(reader.regions.threshold == 0.5 && reader.regions.growth == 1.6 && reader.regions.dilates)
        #expect(reader.side == 736 && !reader.limitsLongerSide && reader.maximumSide == 2_000)
        #expect(reader.runtime.precision == .float32)
        #expect(try Bundles.repository(folder).0.names == [folder.url.lastPathComponent])
    }

    @Test(
        "a folder with only one of the networks, or with other models, is no reader",
        arguments: [
            ["face_det.onnx", "plate_det.onnx"], ["digit_rec.onnx"], ["detector.onnx", "recorder.onnx"],
            ["face_det/model.onnx", "plate_rec/model.onnx"],
        ])
    func others(_ names: [String]) throws {
        let folder = try Self.folder(names)
        let bundle = try? ModelBundle(path: folder.url.path)
        #expect(bundle?.reader == nil)
    }

    @Test("models of a folder of models are not taken for a reader")
    func modelsBesideAReader() throws {
        let folder = try Self.folder(["face_det.onnx", "plate_rec.onnx", "cats.onnx"])
        #expect(try Bundles.repository(folder).0.names == ["cats", "face_det", "plate_rec"])
    }

    private static let facts = """
        Global:
          model_name: PP-OCRv5_mobile_det
        PreProcess:
          transform_ops:
          - DetResizeForTest:
              resize_long: 960
          - NormalizeImage:
              mean: [0.485, 0.456, 0.406]
              std: [0.229, 0.224, 0.225]
              scale: 1./255.
        PostProcess:
          name: DBPostProcess
          thresh: 0.3
          box_thresh: 0.6
          max_candidates: 1000
          unclip_ratio: 1.5
        """

    @Test("the numbers of inference.yml replace RapidOCR's")
    func theFilesOwnNumbers() throws {
        let folder = try Self.folder(
            ["a_det/inference.onnx", "a_rec/inference.onnx"],
            [
                "a_det/inference.yml": Self.facts,
                "a_rec/inference.yml": "PostProcess:\n  name: CTCLabelDecode\n  character_dict:\n  - x\n  - ''''\n",
            ])
        let reader = try #require(try ModelBundle(path: folder.url.path).reader)
        #expect(reader.regions.threshold == 0.6 && reader.regions.growth == 1.5 && !reader.regions.dilates)
        #expect(reader.side == 960 && reader.limitsLongerSide)
        #expect(reader.find.mean == [0.485, 0.456, 0.406])
        #expect(reader.read.dictionary?.texts == ["x", "'"])
    }

    @Test("Paddle's newer form is refused with the command that converts it")
    func theNewerForm() throws {
        let folder = try Self.folder(["a_det/inference.onnx", "a_rec/inference.json"])
        let error = #expect(throws: InferenceError.self) { try ModelBundle(path: folder.url.path) }
        #expect(error?.message.contains("paddle2onnx --model_dir a_rec") == true, "\(error?.message ?? "")")
    }

    @Test("several files for a network, and a missing dictionary, are refused with a remedy")
    func unclearFolders() throws {
        let several = try Self.folder(["a_det.onnx", "b_det.onnx", "a_rec.onnx"])
        var error = #expect(throws: InferenceError.self) { try ModelBundle(path: several.url.path) }
        #expect(error?.message.contains("a_det.onnx") == true && error?.message.contains("model.json") == true)
        let without = try Self.folder(["a_det.onnx", "a_rec.onnx"], [:])
        error = #expect(throws: InferenceError.self) { try ModelBundle(path: without.url.path) }
        #expect(error?.message.contains("has no dictionary") == true, "\(error?.message ?? "")")
    }

    @Test("model.json names the networks and overrides the numbers")
    func modelJSON() throws {
        let json = """
            {"name": "ocr", "id": "ocr", "version": "1", "reader": {"find": "f.onnx", "read": "r.onnx",
             "dictionary": "words.txt", "find_threshold": 0.4, "growth": 2, "bitmap": 0.2, "side": 960, "max_side": 1000,
             "mean": [0.1, 0.2, 0.3], "std": 0.25, "height": 32}}
            """
        let folder = try Self.folder(["f.onnx", "r.onnx"], ["model.json": json, "words.txt": "a\n\u{3000}\n"])
        let reader = try #require(try ModelBundle(path: folder.url.path).reader)
        #expect(reader.regions.threshold == 0.4 && reader.regions.growth == 2 && reader.regions.bitmap == 0.2)
        #expect(reader.side == 960 && reader.maximumSide == 1_000 && reader.read.height == 32)
        #expect(reader.find.mean == [0.1, 0.2, 0.3] && reader.find.std == [0.25, 0.25, 0.25])
        #expect(reader.read.dictionary?.texts == ["a", "\u{3000}"])
    }

    @Test(
        "mistakes in model.json are named",
        arguments: [
            (#""find": "f.onnx""#, "reader.read"), (#""find": "g.onnx", "read": "r.onnx""#, "\"g.onnx\" is not in"),
            (#""find": "f.onnx", "read": "r.onnx", "dictionary": "no.txt""#, "no.txt"),
            (#""find": "f.onnx", "read": "r.onnx", "dictionary": "d.txt", "growth": 0"#, "from 0.1 to 10"),
            (#""find": "f.onnx", "read": "r.onnx", "dictionary": "d.txt", "std": 0"#, "greater than 0"),
            (#""find": "f.onnx", "read": "r.onnx", "dictionary": "d.txt", "mean": [1, 2]"#, "array of three"),
            (#""find": "f.onnx", "read": "r.onnx", "dictionary": "d.txt", "sides": 1"#, "is not a known key"),
        ] as [(String, String)])
    func mistakes(_ members: String, _ expected: String) throws {
        let json = #"{"name": "ocr", "id": "ocr", "version": "1", "reader": {\#(members)}}"#
        let folder = try Self.folder(["f.onnx", "r.onnx"], ["model.json": json, "d.txt": "a\n"])
        let error = #expect(throws: InferenceError.self) { try ModelBundle(path: folder.url.path) }
        #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
    }
}
