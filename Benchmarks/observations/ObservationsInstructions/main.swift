import Observations

// Decodes masks or points, COUNT times. usage: observationsinstructions CASE COUNT; without arguments the names of the cases.
// Prints a checksum of the results: two versions with equal results print equal numbers.

/// Numbers that look like a model's: waves of another length in each channel, and a little noise.
func values(_ shape: [Int], channels: Int, isFirst: Bool, height: Int, width: Int, scale: Float) -> [Float] {
    var state: UInt64 = 34
    var result = [Float](repeating: 0, count: shape.reduce(1, *))
    for channel in 0..<channels {
        for row in 0..<height {
            for column in 0..<width {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let noise = Float(state >> 40) / Float(1 << 24)
                func wave(_ place: Int, _ length: Int, _ factor: Int) -> Float {
                    let part = Float((place * (channel % 5 + 1) * factor + channel * 13) % (2 * length)) / Float(length)
                    return part > 1 ? 2 - part : part
                }
                let value = scale * (wave(column, width, 1) + wave(row, height, 2) - 1 + 0.05 * noise)
                let cell = row * width + column
                result[isFirst ? channel * width * height + cell : cell * channels + channel] = value
            }
        }
    }
    return result
}

struct Case {
    let name: String
    let shape: [Int]
    let channels: Int, height: Int, width: Int, isFirst: Bool
    let scale: Float
    /// Prepares a decoder, as loading a model does; the result decodes.
    let prepare: () throws -> (OutputTensor) throws -> Int
}

func picture(_ width: Int, _ height: Int, _ tensor: (width: Int, height: Int)) -> PictureMap {
    func axis(_ length: Int, _ side: Int) -> AxisMap {
        AxisMap(scale: Double(length) / Double(side), origin: 0, length: length, seen: 0...Double(length))
    }
    return PictureMap(x: axis(width, tensor.width), y: axis(height, tensor.height))
}

typealias Decode = (OutputTensor) throws -> Int

func mask(_ layout: MaskLayout, _ shape: [Int], classes: Int) throws -> Decode {
    let decoder = try MaskDecoder(
        MaskDecoding(layout: layout), shape: shape, width: 256, height: 256, classes: classes)
    let place = picture(320, 240, (256, 256))
    return { tensor in
        let areas = try PictureMask(try decoder.map(tensor), in: place).areas()
        return areas.enumerated().reduce(0) { $0 &* 31 &+ $1.offset &* $1.element }
    }
}

func points(_ layout: KeypointLayout, _ shape: [Int], names: Int) throws -> Decode {
    let decoder = try KeypointDecoder(
        KeypointDecoding(layout: layout), shape: shape, width: 192, height: 256, names: names)
    return { tensor in
        try decoder.keypoints(tensor).reduce(0) { sum, point in
            sum &* 31 &+ Int((point?.x ?? -1) * 1_000) &+ Int((point?.y ?? -1) * 1_000_000)
        }
    }
}

func instance(_ shape: [Int]) throws -> Decode {
    let decoder = try InstanceMaskDecoder(shape: shape, coefficients: 32, width: 640, height: 640)
    let coefficients = (0..<32).map { Float($0 % 7 - 3) / 3 }, place = picture(960, 720, (640, 640))
    let detection = Detection(box: Box(left: 40, top: 60, right: 500, bottom: 560), index: 0, confidence: 1)
    return { tensor in
        let runs = try decoder.mask(
            of: detection, coefficients: coefficients[...], prototypes: tensor, in: place, maximum: .max)
        return runs?.counts.reduce(0) { $0 &* 31 &+ Int($1) } ?? 0
    }
}

func maps(
    _ name: String, _ channels: Int, _ height: Int, _ width: Int, isFirst: Bool, scale: Float = 4,
    _ prepare: @escaping ([Int]) throws -> Decode
) -> Case {
    let shape = isFirst ? [1, channels, height, width] : [1, height, width, channels]
    return Case(
        name: name, shape: shape, channels: channels, height: height, width: width, isFirst: isFirst, scale: scale
    ) { try prepare(shape) }
}

let cases = [
    maps("mask-21-classes-first", 21, 65, 65, isFirst: true) { try mask(.classes, $0, classes: 21) },
    maps("mask-21-classes-last", 21, 65, 65, isFirst: false) { try mask(.classes, $0, classes: 21) },
    maps("mask-150-classes", 150, 128, 128, isFirst: true) { try mask(.classes, $0, classes: 150) },
    maps("mask-4-sigmoid", 4, 64, 64, isFirst: true) { try mask(.sigmoid, $0, classes: 5) },
    maps("mask-numbers", 1, 256, 256, isFirst: true) { try mask(.indices, $0, classes: 5) },
    maps("heatmaps-17-first", 17, 64, 48, isFirst: true, scale: 1) { try points(.heatmaps, $0, names: 17) },
    maps("heatmaps-17-last", 17, 64, 48, isFirst: false, scale: 1) { try points(.heatmaps, $0, names: 17) },
    maps("points-17", 1, 17, 3, isFirst: true, scale: 0.5) { try points(.points, $0, names: 17) },
    maps("instance-32-first", 32, 160, 160, isFirst: true, scale: 1) { try instance($0) },
    maps("instance-32-last", 32, 160, 160, isFirst: false, scale: 1) { try instance($0) },
]

if CommandLine.arguments.count == 3, let count = Int(CommandLine.arguments[2]),
    let one = cases.first(where: { $0.name == CommandLine.arguments[1] })
{
    let numbers = values(
        one.shape, channels: one.channels, isFirst: one.isFirst, height: one.height, width: one.width, scale: one.scale)
    let decode = try one.prepare()
    var found = 0
    for _ in 0..<count {
        found = try numbers.withUnsafeBufferPointer { values in
            guard let tensor = OutputTensor(shape: one.shape, values: values) else { return -1 }
            return try decode(tensor)
        }
    }
    print(found)
} else {
    for one in cases { print(one.name) }
}
