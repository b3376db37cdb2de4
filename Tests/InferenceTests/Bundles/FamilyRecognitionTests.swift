import Foundation
import Inference
import TestSupport
import Testing

/// Detectors without metadata: `ocelli init` recognizes families by the names and shapes of their outputs.
@Suite struct FamilyRecognitionTests {
    private static let families = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/families")

    /// The derivation from a fixture's model file only.
    private static func derivation(_ name: String, _ path: String? = nil) throws -> BundleDerivation {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("\(name).onnx")
        try FileManager.default.copyItem(at: families.appendingPathComponent(path ?? "\(name)/model.onnx"), to: file)
        return try BundleDerivation(path: file.path)
    }

    @Test(
        "output names and shapes of a single detector family make the layout certain",
        arguments: [("yunet", "yunet"), ("centernet", "centernet")])
    func namesAndShapesOfOneFamilyAreCertain(_ name: String, _ layout: String) throws {
        let found = try Self.derivation(name)
        let line = try #require(found.provenance.lines.first { $0.name == "outputs.layout" }, "\(found.provenance)")
        #expect(line.value == "\"\(layout)\"" && line.key.hasSuffix("certain"))
        #expect(!found.provenance.undecided.contains("outputs"))
        // Drafts from files with no other source have no comments.
        #expect(found.provenance.remarks.contains { $0.hasPrefix("layout: \"\(layout)\"") && $0.hasSuffix("certain") })
    }

    @Test(
        "output shapes that fit several detector families give a likely layout that is left undecided",
        arguments: [
            ("scrfd", "scrfd"), ("blazeface", "blazeface"), ("rtmdet", "rtmdet"), ("picodet", "picodet"),
            ("damo_yolo", "damo-yolo"), ("nanodet", "nanodet"), ("yolov5_maps", "yolov5-maps"),
            ("yolov8_maps", "yolov8-maps"),
        ])
    func shapesThatOthersHaveTooAreLikelyAndLeftOpen(_ name: String, _ layout: String) throws {
        let found = try Self.derivation(name)
        let line = try #require(found.provenance.lines.first { $0.name == "outputs.layout" }, "\(found.provenance)")
        #expect(line.value == "\"\(layout)\"" && line.key.contains("likely, but"))
        #expect(found.provenance.undecided.contains("outputs"))
        #expect(found.provenance.missing.contains { $0.hasPrefix("layout: \"\(layout)\"") })
    }

    /// Tests/Fixtures/family-shapes: names and shapes with COCO's classes, for pictures of 128 by 128.
    @Test(
        "detector outputs with COCO's number of classes give a likely layout and the reason to check it",
        arguments: [
            ("fastestdet", "fastestdet", "segmentation"), ("yolox", "yolox", "YOLOv6"), ("yolov5", "yolov5", "YOLOv7"),
            ("yolov8", "yolov8", "fractions"), ("yolov10", "yolo-end-to-end", "300 rows"), ("fcos", "fcos", "offset"),
            ("fcos_maps", "fcos", "units"), ("retinanet", "retinanet", "priors"),
        ])
    func shapesOfCOCOsClasses_areLikely(_ name: String, _ layout: String, _ caveat: String) throws {
        let found = try Self.derivation(name, "../family-shapes/\(name).onnx")
        let line = try #require(found.provenance.lines.first { $0.name == "outputs.layout" }, "\(found.provenance)")
        #expect(line.value == "\"\(layout)\"" && line.key.contains("likely, but") && line.key.contains(caveat))
        #expect(found.provenance.missing.contains { $0.hasPrefix("layout: \"\(layout)\"") })
    }

    @Test("the output maps of a segmentation model are not taken for a detector")
    func mapsOfASegmenter_areNoDetectors() throws {
        let found = try Self.derivation("segmenter", "../family-shapes/segmenter.onnx")
        #expect(!found.provenance.lines.contains { $0.name == "outputs.layout" })
    }

    /// 60 rows match no number of cells; a mesh is not a detector.
    @Test(
        "outputs that fit no detector family stay plain tensors",
        arguments: ["yolov6", "yolov8", "yolov10", "face_mesh"])
    func otherShapesStayTensors(_ name: String) throws {
        let found = try Self.derivation(name)
        #expect(!found.provenance.lines.contains { $0.name == "outputs.layout" })
        #expect(found.observedOutput == nil)
    }

    // MARK: Points, masks, and the preparation of pictures

    private static func derivation(of file: ONNXFile) throws -> BundleDerivation {
        let folder = try TemporaryFolder()
        let path = folder.url.appendingPathComponent("model.onnx")
        try file.bytes.write(to: path)
        return try BundleDerivation(path: path.path)
    }

    private static func value(_ name: String, of found: BundleDerivation) -> String? {
        found.provenance.lines.first { $0.name == name }?.value
    }

    /// The rows of UltraFace for 128 by 128 pixels: 3 (16 x 16) + 2 (8 x 8) + 2 (4 x 4) + 3 (2 x 2).
    @Test("UltraFace is recognized by its names and rows, with the class and the preparation of pictures")
    func ultraFaceIsRecognized() throws {
        func file(rows: Int) -> ONNXFile {
            var file = ONNXFile(
                ["scores", "boxes"].flatMap { name in
                    [
                        ONNXFile.Node("Reshape", ["input", "\(name).shape"], ["\(name).all"]),
                        ONNXFile.Node("Slice", ["\(name).all", "zero", "rows", "one"], [name]),
                    ]
                },
                inputs: [("input", [1, 3, 128, 128])], outputs: [("scores", [1, rows, 2]), ("boxes", [1, rows, 4])])
            for (name, integers) in [
                ("scores.shape", [1, -1, 2]), ("boxes.shape", [1, -1, 4]), ("zero", [0]), ("rows", [rows]),
                ("one", [1]),
            ] {
                file = file.with(name, [integers.count], integers: integers.map(Int64.init))
            }
            return file
        }
        let found = try Self.derivation(of: file(rows: 940))
        for (name, value) in [
            ("outputs.layout", "\"corners\""), ("outputs.background", "\"first\""), ("format", "\"RGB\""),
            ("crop_and_scale", "\"fill\""), ("normalize.mean", "[127.0, 127.0, 127.0]"),
            ("normalize.std", "[128.0, 128.0, 128.0]"), ("normalize.scale", "1.0"),
        ] {
            #expect(Self.value(name, of: found) == value, "\(name): \(found.provenance.lines)")
        }
        #expect(found.labels == ["face"] && found.observedTask == .detect)
        // A person decides: the file itself says nothing of it.
        #expect(found.provenance.undecided == ["outputs", "pictures"])
        #expect(try Self.derivation(of: file(rows: 939)).observedTask == nil)
    }

    @Test("YOLOX is recognized with the preparation of pictures: BGR, 0 to 255, at the top left on gray 114")
    func yoloxPreparesPicturesAsItsOwnProgram() throws {
        let found = try Self.derivation("yolox", "../family-shapes/yolox.onnx")
        for (name, value) in [
            ("format", "\"BGR\""), ("crop_and_scale", "\"fit\""), ("fit_alignment", "\"top_left\""),
            ("fill_color", "\"#727272\""), ("normalize.scale", "1.0"), ("normalize.mean", "[0.0, 0.0, 0.0]"),
            ("resampler", "\"linear\""),
        ] {
            #expect(Self.value(name, of: found) == value, "\(name): \(found.provenance.lines)")
        }
        #expect(found.provenance.undecided == ["outputs", "pictures"])
    }

    @Test("MoveNet is recognized by the shape of its output, with COCO's points")
    func moveNetIsRecognized() throws {
        func file(points: Int) -> ONNXFile {
            var file = ONNXFile(
                [ONNXFile.Node("Slice", ["image", "from", "to", "axes"], ["points"])],
                inputs: [("image", [1, 192, 192, 3])], outputs: [("points", [1, 1, points, 3])])
            for (name, integers) in [("from", [0, 0]), ("to", [1, points]), ("axes", [1, 2])] {
                file = file.with(name, [2], integers: integers.map(Int64.init))
            }
            return file
        }
        let found = try Self.derivation(of: file(points: 17))
        #expect(found.observedTask == .keypoints && Self.value("layout", of: found) == "\"NHWC\"")
        #expect(Self.value("outputs.names", of: found)?.hasSuffix("\"left ankle\", \"right ankle\"]") == true)
        #expect(Self.value("crop_and_scale", of: found) == "\"fit\"")
        #expect(found.provenance.undecided == ["outputs", "pictures"])
        #expect(try Self.derivation(of: file(points: 16)).observedTask == nil)
    }

    @Test(
        "an output of the input's own size is likely a mask, except for three channels",
        arguments: [
            (1, 1, "probabilities"), (2, 1, "classes"), (3, 1, nil), (4, 1, "classes"), (2, 3, "classes"), (3, 3, nil),
        ] as [(Int, Int, String?)])
    func aMapOfTheInputsSizeIsAMask(_ channels: Int, _ axis: Int, _ layout: String?) throws {
        func shape(_ channels: Int) -> [Int] { axis == 1 ? [1, channels, 48, 64] : [1, 48, 64, channels] }
        let found = try Self.derivation(
            of: ONNXFile(
                [
                    ONNXFile.Node(
                        "Concat", [String](repeating: "image", count: channels), ["all"], integers: [("axis", [axis])]),
                    ONNXFile.Node("Sigmoid", ["all"], ["mask"]),
                ], inputs: [("image", shape(1))], outputs: [("mask", shape(channels))]))
        #expect(found.observedTask == (layout == nil ? nil : .segment), "\(found.provenance)")
        #expect(Self.value("outputs.layout", of: found) == layout.map { "\"\($0)\"" })
        if layout != nil {
            #expect(Self.value("outputs.channels", of: found) == (axis == 1 ? "\"first\"" : "\"last\""))
            #expect(found.provenance.undecided.contains("outputs"))
        }
    }
}
