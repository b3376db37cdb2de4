import ImagePipeline

/// A picture as a network of 224 by 224 pixels takes it: the middle of it, as floats, normalized as in training.
func tensor(of bytes: [UInt8]) throws -> [UInt8] {
    var spec = ImageTensorSpec(width: 224, height: 224, layout: .nchw, element: .float32)
    // (pixel / 255 - mean) / std, as one multiplication and one addition per channel.
    let mean: [Float] = [0.485, 0.456, 0.406], std: [Float] = [0.229, 0.224, 0.225]
    spec.scale = std.map { 1 / (255 * $0) }
    spec.bias = zip(mean, std).map { -$0 / $1 }
    spec.cropAndScale = .centerCrop

    let pipeline = try ImagePipeline(spec: spec, limits: ImageLimits(maxPixels: 64_000_000))
    var tensor = [UInt8](repeating: 0, count: spec.byteCount)
    let info = try tensor.withUnsafeMutableBytes { destination in
        try bytes.withUnsafeBytes { try pipeline.prepare($0, into: destination) }
    }
    print("\(info.format) of \(info.width) by \(info.height) pixels")
    return tensor
}
