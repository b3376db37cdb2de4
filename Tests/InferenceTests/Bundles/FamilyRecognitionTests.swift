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
}
