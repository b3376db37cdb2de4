import Foundation
import ImagePipeline
import Testing

@Suite struct ExplainTests {
    @Test("explain lists the preprocessing steps in order, and its report survives JSON encoding")
    func theTransformsAreListed() throws {
        let spec = ImageTensorSpec(
            width: 20, height: 16, channelOrder: .bgr, layout: .nchw, element: .float32, cropAndScale: .scaleFit)
        let pipeline = try ImagePipeline(spec: spec)
        let report = try Fixtures.bytes("orientation-6.png").withUnsafeBytes { try pipeline.explain($0) }
        #expect(
            report.steps.map(\.operation)
                == ["decode", "orient", "composite", "convert", "resize", "pad", "normalize", "tensor"])
        #expect(report.steps.last?.parameters["shape"] == .numbers([1, 3, 16, 20]))
        let text = try JSONEncoder().encode(report)
        #expect(try JSONDecoder().decode(PreprocessingReport.self, from: text) == report)
    }

    /// The second picture is stored with 41 x 60 pixels, which EXIF turns to 60 x 41.
    @Test(
        "explain reports the center crop of a picture in pixels of the upright picture",
        arguments: [("tall.png", 0, 28), ("orientation-6.png", 9.5, 0)] as [(String, Double, Double)])
    func aCropIsReportedInPixelsOfTheUprightPicture(_ name: String, left: Double, top: Double) throws {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 10, height: 10))
        let report = try Fixtures.bytes(name).withUnsafeBytes { try pipeline.explain($0) }
        let crop = try #require(report.steps.first { $0.operation == "crop" })
        #expect(
            crop.parameters == [
                "left": .number(left), "top": .number(top), "width": .number(41), "height": .number(41),
            ])
    }

    @Test(
        "a floating-point tensor turns back into the picture's levels, as pixels and as a PNG",
        arguments: TensorFormTests.forms.filter { $0.element == .float16 || $0.element == .float32 })
    func theTensorCanBeSeen(_ spec: ImageTensorSpec) throws {
        let picture = try Fixtures.bytes("scene.png")
        let levels = try ImagePipeline(spec: ImageTensorSpec(width: 21, height: 13)).tensor(picture)
        let tensor = try ImagePipeline(spec: spec).tensor(picture)
        let seen = PixelReconstruction(undoing: spec)
        let pixels = try tensor.withUnsafeBytes { try seen.pixels($0) }
        let allowed = spec.element == .float16 ? 1 : 0
        #expect(zip(pixels, levels).allSatisfy { abs(Int($0) - Int($1)) <= allowed })
        let png = try tensor.withUnsafeBytes { try seen.png($0) }
        #expect(try ImagePipeline(spec: ImageTensorSpec(width: 21, height: 13)).tensor(png) == pixels)
    }

    @Test("a model's float output becomes pixel levels, clamped to 0...255, with NaN as 0")
    func outputsAreDenormalized() throws {
        let values: [Float] = [-1, 0, 1, 2, .nan, -.infinity, .infinity, 0.5, -0.5, 0.1, 0.2, 0.3]
        let output = PixelReconstruction(
            width: 2, height: 2, element: .float32, scale: [127.5, 127.5, 127.5], bias: [1, 1, 1])
        let pixels = try values.withUnsafeBytes { try output.pixels($0) }
        #expect(pixels == [0, 128, 255, 255, 0, 0, 255, 191, 64, 140, 153, 166])
        #expect(throws: ImageError.wrongSize(expected: 48, got: 4)) {
            try [Float(1)].withUnsafeBytes { try output.pixels($0) }
        }
    }

    @Test("a tensor is written as a NumPy .npy file, and a shape of another size is refused")
    func aTensorBecomesAFileOfNumPys() throws {
        let file = try [UInt8](0..<6).withUnsafeBytes { try NPYEncoder.encode($0, shape: [1, 2, 3], element: .uint8) }
        #expect(file.count == 128 + 6)
        #expect(Array(file[0..<10]) == [0x93, 78, 85, 77, 80, 89, 1, 0, 118, 0])
        let header = String(decoding: file[10..<128], as: UTF8.self)
        #expect(header.hasPrefix("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2, 3,), }"))
        #expect(header.hasSuffix(" \n"))
        #expect(Array(file[128...]) == [0, 1, 2, 3, 4, 5])
        #expect(throws: ImageError.self) {
            try [UInt8](0..<6).withUnsafeBytes { try NPYEncoder.encode($0, shape: [7], element: .uint8) }
        }
    }
}
