/// upsample and resizeBilinear.
enum ResizeLayers {
    static let table: [LayerTranslator] = [
        .ofImages(210, "upsample") { (layer, x) throws(Problem) in
            var factors = try layer.parameters.floats(7)
            if factors.isEmpty {
                factors = try layer.sizes(1, "scalingFactor", default: [1, 1]).map { Float($0) }
            }
            let (mode, aligned) = (try layer.parameters.integer(5), try layer.parameters.integer(6))
            let choices: [GridSampling] = [.asymmetric, .strict, .halfPixel]
            guard mode == 0 || mode == 1 && choices.indices.contains(aligned) else {
                throw Problem("unknown interpolation \(mode), \(aligned)")
            }
            return try layer.graph.upsampled(
                x, by: factors, sampling: mode == 0 ? .asymmetric : choices[aligned], linear: mode == 1)
        },
        .ofImages(211, "resizeBilinear") { (layer, x) throws(Problem) in
            try layer.graph.resized(
                x, to: layer.sizes(1, "targetSize", default: [1, 1]), sampling: sampling(layer, 2), linear: true)
        },
    ]

    /// SamplingMode.
    static func sampling(_ layer: Layer, _ field: Int) throws(Problem) -> GridSampling {
        let modes: [GridSampling] = [.strict, .aligned, .asymmetric, .offset]
        let mode = try layer.parameters.message(field)?.integer(1) ?? 0
        guard modes.indices.contains(mode) else { throw Problem("unknown sampling mode \(mode)") }
        return modes[mode]
    }
}
