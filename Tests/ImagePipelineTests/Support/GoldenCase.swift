import Foundation
import ImagePipeline

/// One line of Fixtures/cases.txt, with its part of tensors.bin.
struct GoldenCase: CustomStringConvertible {
    let description: String
    let file: String
    let spec: ImageTensorSpec
    let options: ImageDecodeOptions
    /// The maximum mean of the absolute differences, in levels.
    let mean: Double
    /// The maximum difference, in levels.
    let maximum: Int
    let expected: [UInt8]
    /// The part of the picture: x, y, width, height.
    let box: [Double]
    /// The coordinates x and y of each of the five aligned points.
    let points: [Double]

    static let all = read("cases.txt", "tensors.bin")
    /// The cases of Tests/FixtureMakers/make-resample-goldens: filters and geometry compared with Pillow, OpenCV,
    /// TensorFlow and Hugging Face.
    static let resampled = read("resample-cases.txt", "resample-tensors.bin")

    /// The cases of Tests/FixtureMakers/make-crop-goldens: parts of pictures, and alignments.
    static let cropped = read("crop-cases.txt", "crop-tensors.bin")

    private static func read(_ cases: String, _ bytes: String) -> [GoldenCase] {
        guard let text = try? String(contentsOf: Fixtures.folder.appendingPathComponent(cases), encoding: .utf8),
            let tensors = try? Fixtures.bytes(bytes)
        else { return [] }
        var offset = 0
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let golden = GoldenCase(String(line), tensors, offset)
            offset += golden.spec.byteCount
            return golden
        }
    }

    private init(_ line: String, _ tensors: [UInt8], _ offset: Int) {
        description = line
        let words = line.split(separator: " ")
        file = String(words[0])
        var values: [String: String] = [:]
        for word in words.dropFirst() {
            let parts = word.split(separator: "=")
            values[String(parts[0])] = String(parts[1])
        }
        func number(_ name: String) -> Int { values[name].flatMap(Int.init) ?? 0 }
        func numbers(_ name: String) -> [Double] {
            (values[name] ?? "").split(separator: ",").compactMap { Double($0) }
        }
        func color(_ name: String, _ otherwise: RGBColor) -> RGBColor {
            let parts = (values[name] ?? "").split(separator: ",").compactMap { UInt8($0) }
            return parts.count == 3 ? RGBColor(red: parts[0], green: parts[1], blue: parts[2]) : otherwise
        }
        var spec = ImageTensorSpec(
            width: number("width"), height: number("height"),
            channelOrder: ChannelOrder(rawValue: values["order"] ?? "RGB") ?? .rgb,
            layout: TensorLayout(rawValue: values["layout"] ?? "NHWC") ?? .nhwc,
            cropAndScale: CropAndScale(rawValue: values["crop"] ?? "center") ?? .centerCrop,
            resampler: Resampler(rawValue: values["resampler"] ?? "bilinear") ?? .bilinear,
            resizeShorterSide: values["shorter"].flatMap(Int.init), background: color("background", .white),
            fill: color("fill", .black))
        let exact = (values["exact"] ?? "").split(separator: "x").compactMap { Int($0) }
        if exact.count == 2 { spec.resizeExactly = ImageSize(width: exact[0], height: exact[1]) }
        spec.keepsSize = values["size"] == "kept"
        spec.centering = Centering(rawValue: values["centering"] ?? "half_even") ?? .halfEven
        spec.alignment = FitAlignment(rawValue: values["alignment"] ?? "center") ?? .center
        if let margin = values["margin"].flatMap(Double.init) { spec.decodeMargin = margin }
        self.spec = spec
        options = ImageDecodeOptions(
            orientation: values["orientation"].flatMap { ImageOrientation(text: $0) } ?? .apply,
            fullDecode: values["decode"] == "full")
        box = numbers("box")
        points = numbers("points")
        mean = Double(number("mean"))
        maximum = number("max")
        let end = min(tensors.count, offset + spec.byteCount)
        expected = Array(tensors[min(offset, end)..<end])
    }
}
