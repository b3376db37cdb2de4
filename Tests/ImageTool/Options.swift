import ImagePipeline

/// Arguments of the form `name=value`; the others are files.
struct Options {
    var values: [String: String] = [:]
    var files: [String] = []

    init(_ arguments: [String]) {
        for argument in arguments {
            let parts = argument.split(separator: "=", maxSplits: 1)
            if parts.count == 2, !argument.hasPrefix("/"), !argument.hasPrefix(".") {
                values[String(parts[0])] = String(parts[1])
            } else {
                files.append(argument)
            }
        }
    }

    func integer(_ name: String, _ otherwise: Int) -> Int { values[name].flatMap(Int.init) ?? otherwise }

    func floats(_ name: String) -> [Float] { (values[name] ?? "").split(separator: ",").compactMap { Float($0) } }

    func color(_ name: String, _ otherwise: RGBColor) -> RGBColor {
        let parts = (values[name] ?? "").split(separator: ",").compactMap { UInt8($0) }
        return parts.count == 3 ? RGBColor(red: parts[0], green: parts[1], blue: parts[2]) : otherwise
    }

    var spec: ImageTensorSpec {
        var spec = ImageTensorSpec(
            width: integer("width", 224), height: integer("height", 224),
            channelOrder: ChannelOrder(rawValue: values["order"] ?? "") ?? .rgb,
            layout: TensorLayout(rawValue: values["layout"] ?? "") ?? .nhwc,
            element: PixelElement(rawValue: values["element"] ?? "") ?? .uint8, scale: floats("scale"),
            bias: floats("bias"), cropAndScale: CropAndScale(rawValue: values["crop"] ?? "") ?? .centerCrop,
            resampler: Resampler(rawValue: values["resampler"] ?? "") ?? .bilinear,
            resizeShorterSide: values["shorter"].flatMap(Int.init), background: color("background", .white),
            fill: color("fill", .black))
        if let margin = values["margin"].flatMap(Double.init) { spec.decodeMargin = margin }
        return spec
    }

    var decoding: ImageDecodeOptions {
        ImageDecodeOptions(
            orientation: values["orientation"].flatMap { ImageOrientation(text: $0) } ?? .apply,
            fullDecode: values["decode"] == "full")
    }
}
