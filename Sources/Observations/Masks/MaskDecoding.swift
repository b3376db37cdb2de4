/// A description of an output with a class for each position of the picture.
package struct MaskDecoding: Sendable, Hashable {
    package var layout: MaskLayout
    /// The place of the channel axis; nil derives it from the number of classes.
    package var order: ChannelPlace?
    /// With `sigmoid` and `probabilities`, the minimum confidence of a class.
    package var threshold: Float

    package init(layout: MaskLayout, order: ChannelPlace? = nil, threshold: Float = 0.5) {
        (self.layout, self.order, self.threshold) = (layout, order, threshold)
    }
}

/// The meaning of the values of a mask. The raw values are those of model.json.
package enum MaskLayout: String, Sendable, CaseIterable {
    /// A score for each class: the greatest wins.
    case classes
    /// A logit or probability for each class: the greatest over the threshold wins. Channels count from 1; 0 means no
    /// class.
    case sigmoid, probabilities
    /// The class number itself.
    case indices
}

/// Decodes the output of a mask.
package struct MaskDecoder: Sendable {
    package let decoding: MaskDecoding
    /// The size of the input tensor in pixels.
    package let width: Int, height: Int
    /// The number of classes in the map, including the background.
    package let classes: Int
    private let maps: ChannelMaps

    /// The maximum number of classes: 16 bits, without the number for "not seen".
    package static let maximumClasses = 65_535

    /// Prepares to decode an output of this shape. `classes`: the number of labels, nil if unknown. Throws `unexpected`
    /// if it does not fit.
    package init(
        _ decoding: MaskDecoding, shape whole: [Int], width: Int, height: Int, classes: Int?
    ) throws(ObservationError) {
        (self.decoding, self.width, self.height) = (decoding, width, height)
        var shape = OutputTensor.withoutBatch(whole, rank: 3)
        // Class numbers, or the scores of a single class, may lack the channel axis.
        if shape.count == 2 { shape.insert(1, at: 0) }
        let background = decoding.layout == .sigmoid || decoding.layout == .probabilities ? 1 : 0
        let expected = decoding.layout == .indices ? 1 : classes.map { max(1, $0 - background) }
        let alternative = background == 1 ? classes : nil
        func fits(_ channels: Int) -> Bool { expected == nil || channels == expected || channels == alternative }
        let wanted = "[1, \(expected.map(String.init) ?? "classes"), height, width] or channels last"
        guard let maps = ChannelMaps(shape, place: decoding.order, fits: fits), maps.channels < Self.maximumClasses
        else {
            throw .unexpected(role: "output", expected: wanted, found: "\(whole)")
        }
        self.maps = maps
        self.classes =
            decoding.layout == .indices ? min(classes ?? 256, Self.maximumClasses) : maps.channels + background
    }

    /// The best class of each cell, and the classes that can win between their centers.
    package func map(
        _ tensor: OutputTensor, threshold: Float? = nil, isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> ClassMap {
        let count = maps.cells, channels = maps.channels
        guard tensor.values.count == count * channels, let base = tensor.values.baseAddress else {
            throw .unexpected(role: "output", expected: "\(count * channels) values", found: "\(tensor.shape)")
        }
        var values = [UInt16](repeating: 0, count: count)
        var between: (starts: [Int32], contenders: [ClassMap.Contender]) = ([], [])
        if decoding.layout == .indices {
            try readNumbers(base, into: &values)
        } else {
            var minimum = -Float.infinity
            var first: UInt16 = 0
            if decoding.layout != .classes {
                let threshold = threshold ?? decoding.threshold
                minimum = decoding.layout == .sigmoid ? ScoreScan.logit(threshold) : threshold
                first = 1
            }
            var best = [Float](repeating: minimum, count: count)
            let cellStep = maps.cellStep, channelStep = maps.channelStep
            // The cells of a batch stay in the cache while the channels are read.
            var start = 0
            while start < count {
                if isCancelled() { throw .cancelled }
                let end = min(count, start + 4_096)
                var unordered: UInt32 = 0
                for channel in 0..<channels {
                    let plane = base + channel * channelStep
                    let number = first &+ UInt16(truncatingIfNeeded: channel)
                    for index in start..<end {
                        let value = plane[index &* cellStep]
                        // A score equal to the threshold suffices; of equal scores, the first class wins.
                        if value > best[index] || (first == 1 && values[index] == 0 && value >= best[index]) {
                            best[index] = value
                            values[index] = number
                        }
                        unordered |= value == value ? 0 : 1
                    }
                }
                if unordered != 0 { throw .notNumbers(role: "output") }
                start = end
            }
            if let scores = Plane(
                tensor, offset: 0, rows: count, rowStride: cellStep, count: channels, step: channelStep)
            {
                between = try ContenderSearch(
                    width: maps.width, height: maps.height, values: values, scores: scores, first: first,
                    nothing: first == 1 ? minimum : nil
                ).run(isCancelled: isCancelled)
            }
        }
        return ClassMap(
            width: maps.width, height: maps.height, tensorWidth: width, tensorHeight: height, classes: classes,
            values: values, starts: between.starts, contenders: between.contenders)
    }

    /// The class numbers of the cells; 0 where a number names no class.
    private func readNumbers(_ base: UnsafePointer<Float>, into values: inout [UInt16]) throws(ObservationError) {
        let maximum = Float(classes)
        for index in values.indices {
            let value = base[index].rounded()
            if value >= 0, value < maximum {
                values[index] = UInt16(value)
            } else if value.isNaN {
                throw .notNumbers(role: "output")
            }
        }
    }
}
