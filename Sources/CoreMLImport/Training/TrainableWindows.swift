/// The windows of a convolution or a pooling along one axis.
struct WindowAxis: Sendable {
    let extent: Int, kernel: Int, stride: Int, dilation: Int
    /// Padding before and after.
    let before: Int, after: Int
    let outputs: Int

    enum Padding: Sendable {
        case amounts(before: Int, after: Int)
        /// The output has ⌈extent / stride⌉ elements; an odd element of padding goes to the end, or to the front.
        case same(isFrontHeavy: Bool)
        /// Pooling's includeLastPixel: the number of windows is rounded up, without a window that begins after the
        /// input and its padding in front.
        case rounded(amount: Int, isPadded: Bool)
    }

    init(extent: Int, kernel: Int, stride: Int, dilation: Int, padding: Padding) throws(Problem) {
        (self.extent, self.kernel, self.stride, self.dilation) = (extent, kernel, stride, dilation)
        let (reach, overflow) = (kernel - 1).multipliedReportingOverflow(by: dilation)
        guard !overflow, reach < 1 << 24, stride > 0 else { throw Problem("a window of \(kernel) elements") }
        switch padding {
        case .amounts(let before, let after):
            (self.before, self.after) = (before, after)
            let rest = extent + before + after - reach - 1
            guard rest >= 0 else { throw Problem("a window of \(kernel) is larger than an input of \(extent)") }
            outputs = rest / stride + 1
        case .same(let isFrontHeavy):
            outputs = (extent + stride - 1) / stride
            let total = max(0, (outputs - 1) * stride + reach + 1 - extent)
            before = isFrontHeavy ? total - total / 2 : total / 2
            after = total - before
        case .rounded(let amount, let isPadded):
            let rest = extent + 2 * amount - kernel
            guard rest >= 0 else { throw Problem("a window of \(kernel) is larger than an input of \(extent)") }
            var count = (rest + stride - 1) / stride + 1
            if isPadded, (count - 1) * stride >= extent + amount { count -= 1 }
            (before, after, outputs) = (amount, amount, count)
        }
        guard outputs <= 1 << 20 else { throw Problem("\(outputs) windows along an axis") }
    }

    /// The index in the input of an element of a window; nil in the padding.
    func place(_ output: Int, _ element: Int) -> Int? {
        let place = output * stride + element * dilation - before
        return place >= 0 && place < extent ? place : nil
    }

    /// The number of elements of a window that an average counts.
    func counted(_ output: Int, excludesPadding: Bool) -> Int {
        let counted = excludesPadding ? 0..<extent : -before..<extent + after
        let first = output * stride - before
        return counted.clamped(to: first..<first + kernel).count
    }
}

/// convolution, with groups.
struct TrainableConvolution: TrainableLayer {
    let outer: Int, inputs: Int, outputs: Int, groups: Int, hasBias: Bool
    let rows: WindowAxis, columns: WindowAxis
    let outputShape: [Int]
    var cost: [Int] {
        [outer, outputs, rows.outputs, columns.outputs, inputs / groups, rows.kernel, columns.kernel]
    }

    /// - Parameter kernelChannels: the number of input channels of a group.
    init(
        kernelChannels: Int, outputs: Int, groups: Int, hasBias: Bool, shape: [Int],
        _ window: (Int, Int) throws(Problem) -> WindowAxis
    ) throws(Problem) {
        let axes = ChannelAxes(shape)
        guard shape.count >= 3, axes.channels == kernelChannels * groups, outputs % groups == 0 else {
            throw Problem(
                "expected an input of \(kernelChannels * groups) channels, height and width, found the shape \(shapeText(shape))"
            )
        }
        (outer, inputs) = (axes.outer, axes.channels)
        (self.outputs, self.groups, self.hasBias) = (outputs, groups, hasBias)
        rows = try window(0, shape[shape.count - 2])
        columns = try window(1, shape[shape.count - 1])
        outputShape = shape.dropLast(3) + [outputs, rows.outputs, columns.outputs]
    }

    /// Calls `body` with each combination of the indices of an output, a weight and an input.
    private func visit(_ body: (_ output: Int, _ weight: Int, _ input: Int) -> Void) {
        let (perGroup, area) = (inputs / groups, rows.extent * columns.extent)
        let outputArea = rows.outputs * columns.outputs
        for batch in 0..<outer {
            for output in 0..<outputs {
                let first = output / (outputs / groups) * perGroup
                for channel in 0..<perGroup {
                    let source = (batch * inputs + first + channel) * area
                    for row in 0..<rows.kernel {
                        for column in 0..<columns.kernel {
                            let weight = ((output * perGroup + channel) * rows.kernel + row) * columns.kernel + column
                            for y in 0..<rows.outputs {
                                guard let sourceRow = rows.place(y, row) else { continue }
                                let target = (batch * outputs + output) * outputArea + y * columns.outputs
                                for x in 0..<columns.outputs {
                                    guard let sourceColumn = columns.place(x, column) else { continue }
                                    body(target + x, weight, source + sourceRow * columns.extent + sourceColumn)
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    private var weightCount: Int { outputs * (inputs / groups) * rows.kernel * columns.kernel }

    func forward(_ input: [Double], _ parameters: [Double]) -> [Double] {
        let area = rows.outputs * columns.outputs
        var result = [Double](repeating: 0, count: outer * outputs * area)
        if hasBias {
            for place in result.indices { result[place] = parameters[weightCount + place / area % outputs] }
        }
        result.withUnsafeMutableBufferPointer { result in
            input.withUnsafeBufferPointer { input in
                parameters.withUnsafeBufferPointer { weights in
                    visit { result[$0] += weights[$1] * input[$2] }
                }
            }
        }
        return result
    }

    func backward(
        _ gradient: [Double], input: [Double], output: [Double], parameters: [Double], adding sums: inout [Double]
    ) -> [Double] {
        let area = rows.outputs * columns.outputs
        if hasBias {
            for (place, slope) in gradient.enumerated() { sums[weightCount + place / area % outputs] += slope }
        }
        var result = [Double](repeating: 0, count: input.count)
        result.withUnsafeMutableBufferPointer { result in
            sums.withUnsafeMutableBufferPointer { sums in
                gradient.withUnsafeBufferPointer { gradient in
                    input.withUnsafeBufferPointer { input in
                        parameters.withUnsafeBufferPointer { weights in
                            visit {
                                sums[$1] += gradient[$0] * input[$2]
                                result[$2] += gradient[$0] * weights[$1]
                            }
                        }
                    }
                }
            }
        }
        return result
    }
}

/// pooling: the maximum, the average or the L2 norm of windows.
struct TrainablePooling: TrainableLayer {
    enum Function: Int, Sendable { case maximum, average, root }
    let function: Function
    let excludesPadding: Bool
    let planes: Int
    let rows: WindowAxis, columns: WindowAxis
    let outputShape: [Int]
    var cost: [Int] { [planes, rows.outputs, columns.outputs, rows.kernel, columns.kernel] }

    init(_ function: Function, excludesPadding: Bool, shape: [Int], rows: WindowAxis, columns: WindowAxis) {
        (self.function, self.excludesPadding, self.rows, self.columns) = (function, excludesPadding, rows, columns)
        let axes = ChannelAxes(shape)
        planes = axes.outer * axes.channels
        outputShape = shape.dropLast(2) + [rows.outputs, columns.outputs]
    }

    /// Calls `body` for each window with the index of its output, the indices of its inputs, and the divisor of its
    /// average.
    private func visit(_ body: (_ output: Int, _ inputs: [Int], _ counted: Int) -> Void) {
        for plane in 0..<planes {
            for y in 0..<rows.outputs {
                for x in 0..<columns.outputs {
                    var inputs: [Int] = []
                    for row in 0..<rows.kernel {
                        guard let row = rows.place(y, row) else { continue }
                        for column in 0..<columns.kernel {
                            guard let column = columns.place(x, column) else { continue }
                            inputs.append((plane * rows.extent + row) * columns.extent + column)
                        }
                    }
                    let counted =
                        rows.counted(y, excludesPadding: excludesPadding)
                        * columns.counted(x, excludesPadding: excludesPadding)
                    body((plane * rows.outputs + y) * columns.outputs + x, inputs, counted)
                }
            }
        }
    }

    func forward(_ input: [Double], _ parameters: [Double]) -> [Double] {
        var result = [Double](repeating: 0, count: outputShape.reduce(1, *))
        visit { output, places, counted in
            switch function {
            case .maximum: result[output] = places.lazy.map { input[$0] }.max() ?? 0
            case .average: result[output] = counted == 0 ? 0 : places.reduce(0) { $0 + input[$1] } / Double(counted)
            case .root: result[output] = places.reduce(0) { $0 + input[$1] * input[$1] }.squareRoot()
            }
        }
        return result
    }

    func backward(
        _ gradient: [Double], input: [Double], output: [Double], parameters: [Double], adding sums: inout [Double]
    ) -> [Double] {
        var result = [Double](repeating: 0, count: input.count)
        visit { place, places, counted in
            let slope = gradient[place]
            switch function {
            case .maximum:
                // Of equal values, the first one gets the gradient.
                if let best = places.first(where: { input[$0] == output[place] }) { result[best] += slope }
            case .average:
                for source in places where counted > 0 { result[source] += slope / Double(counted) }
            case .root:
                for source in places where output[place] > 0 { result[source] += slope * input[source] / output[place] }
            }
        }
        return result
    }
}
