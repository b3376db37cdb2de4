#if canImport(Glibc)
    internal import Glibc
#else
    internal import Musl
#endif

/// Finds the rows of a tensor that have a class over the threshold, and in the same pass whether a score is NaN.
/// Compares raw values before it computes anything.
struct ScoreScan {
    let form: ScoreForm, background: BackgroundClass, threshold: Float, multiLabel: Bool, weights: ScoreWeights
    /// The classes to find; nil for all.
    let requestedClasses: [Bool]?
    /// The minimum raw score of a class, and of objectness, that can reach the threshold.
    private let minimum: Float, minimumObjectness: Float

    init(_ decoding: BoxDecoding, threshold: Float, requestedClasses: [Bool]?) {
        (form, background, self.threshold) = (decoding.scores, decoding.background, threshold)
        (multiLabel, weights, self.requestedClasses) = (decoding.multiLabel, decoding.weights, requestedClasses)
        // Assume the maximum class score, 1.
        let objectness =
            switch weights {
            case .product: threshold
            case .root: threshold * threshold
            default: pow(threshold, 1 / weights.objectness) * 0.999
            }
        if form == .probabilities {
            (minimum, minimumObjectness) = (threshold, objectness)
        } else {
            // Subtract a margin: the exact comparison uses the computed confidence.
            (minimum, minimumObjectness) = (Self.logit(threshold) - 1e-3, Self.logit(objectness) - 1e-3)
        }
    }

    /// The confidence from the probabilities of objectness and of a class.
    @inline(__always)
    private func combine(_ gate: Float, _ class: Float) -> Float {
        switch weights {
        case .product: gate * `class`
        case .root: (gate * `class`).squareRoot()
        default: pow(gate, weights.objectness) * pow(`class`, weights.classes)
        }
    }

    static func logit(_ probability: Float) -> Float { log(probability / (1 - probability)) }

    @inline(__always)
    static func sigmoid(_ value: Float) -> Float { 1 / (1 + exp(-value)) }
    static func exponential(_ value: Float) -> Float { exp(value) }
    static func tangent(_ value: Float) -> Float { tanh(value) }

    /// The number of rows between checks for cancellation.
    private static let batch = 2_048

    /// Adds the rows of a level; `firstRow` is the index of its first row among all levels. `scores` include
    /// background.
    func scan(
        scores: Plane, objectness: Plane?, rows: Int, firstRow: Int, into candidates: inout Candidates,
        isCancelled: () -> Bool
    ) throws(ObservationError) {
        for start in stride(from: 0, to: rows, by: Self.batch) {
            if isCancelled() { throw .cancelled }
            let batch = start..<min(rows, start + Self.batch)
            switch (form, objectness) {
            case (.softmax, _): softmax(scores, by: objectness, batch, firstRow, &candidates)
            case (_, let objectness?): gated(scores, by: objectness, batch, firstRow, &candidates)
            case (_, nil) where scores.rowStride == 1 && scores.step != 1: columns(scores, batch, firstRow, &candidates)
            case (_, nil): self.rows(scores, batch, firstRow, &candidates)
            }
        }
    }

    /// The range of classes without background, and the number to subtract from an index to get the class.
    private func classes(_ scores: Plane) -> (range: Range<Int>, shift: Int) {
        switch background {
        case .none: (0..<scores.count, 0)
        case .first: (min(1, scores.count)..<scores.count, 1)
        case .last: (0..<(scores.count - 1), 0)
        }
    }

    @inline(__always)
    func add(_ score: Float, _ row: Int, _ label: Int, _ candidates: inout Candidates) {
        guard score >= threshold else { return }
        if let requestedClasses, label >= requestedClasses.count || !requestedClasses[label] { return }
        candidates.add(score, row: row, label: label)
    }

    @inline(__always)
    func probability(_ value: Float) -> Float { form == .sigmoid ? Self.sigmoid(value) : value }

    // MARK: Rows with consecutive classes

    private func rows(_ scores: Plane, _ batch: Range<Int>, _ firstRow: Int, _ candidates: inout Candidates) {
        let (range, shift) = classes(scores)
        for row in batch {
            guard Self.reaches(minimum, scores, row, range) else { continue }
            let areNumbers = each(scores, row, range) { place, value in
                add(probability(value), firstRow &+ row, place &- shift, &candidates)
            }
            if !areNumbers { candidates.hasNaN = true }
        }
    }

    private func gated(
        _ scores: Plane, by objectness: Plane, _ batch: Range<Int>, _ firstRow: Int, _ candidates: inout Candidates
    ) {
        let (range, shift) = classes(scores)
        for row in batch {
            let raw = objectness[row, 0]
            if raw.isNaN { candidates.hasNaN = true }
            guard raw >= minimumObjectness else { continue }
            let gate = probability(raw)
            let minimum = multiLabel ? minimum(beside: gate) : -.infinity
            let areNumbers = each(scores, row, range) { place, value in
                guard value >= minimum else { return }
                add(combine(gate, probability(value)), firstRow &+ row, place &- shift, &candidates)
            }
            if !areNumbers { candidates.hasNaN = true }
        }
    }

    /// The minimum raw class score that can reach the threshold with an objectness: avoids most exponentials if there
    /// are many classes.
    private func minimum(beside gate: Float) -> Float {
        let share =
            switch weights {
            case .product: threshold / gate
            case .root: threshold * threshold / gate
            default: pow(threshold / pow(gate, weights.objectness), 1 / weights.classes)
            }
        let minimum = form == .sigmoid ? Self.logit(share * 0.999) - 1e-3 : share * 0.999
        return minimum.isNaN ? -.infinity : minimum
    }

    /// Calls `body` with the best class of a row, or with every class if a box may have several.
    /// - Returns: false if a value is NaN.
    @inline(__always)
    private func each(_ scores: Plane, _ row: Int, _ range: Range<Int>, _ body: (Int, Float) -> Void) -> Bool {
        var areNumbers = true
        if multiLabel {
            for place in range {
                let value = scores[row, place]
                if value.isNaN { areNumbers = false } else { body(place, value) }
            }
            return areNumbers
        }
        var best = -Float.infinity, bestPlace = -1
        for place in range {
            let value = scores[row, place]
            if value > best {
                best = value
                bestPlace = place
            } else if value.isNaN {
                areNumbers = false
            }
        }
        if bestPlace >= 0 { body(bestPlace, best) }
        return areNumbers
    }

    /// True if a value of a row is at least `minimum`, or NaN.
    @inline(__always)
    private static func reaches(_ minimum: Float, _ scores: Plane, _ row: Int, _ range: Range<Int>) -> Bool {
        guard scores.step == 1, range.count >= 16 else { return !(maximum(scores, row, range) < minimum) }
        let values = scores.base + row &* scores.rowStride
        func lanes(_ place: Int) -> SIMD8<Float> {
            UnsafeRawPointer(values + place).loadUnaligned(as: SIMD8<Float>.self)
        }
        let floor = SIMD8<Float>(repeating: minimum)
        // NaN is not below anything.
        var areBelow = SIMDMask<SIMD8<Int32>>(repeating: true)
        var place = range.lowerBound
        while place &+ 16 <= range.upperBound {
            areBelow = areBelow .& (lanes(place) .< floor) .& (lanes(place &+ 8) .< floor)
            place &+= 16
        }
        // The last lanes overlap earlier ones.
        if place < range.upperBound {
            areBelow = areBelow .& (lanes(range.upperBound &- 16) .< floor) .& (lanes(range.upperBound &- 8) .< floor)
        }
        return !Self.all(areBelow)
    }

    /// True if all lanes of a mask are set.
    @inline(__always)
    private static func all(_ mask: SIMDMask<SIMD8<Int32>>) -> Bool {
        // Lanes of the mask are all ones or all zeros.
        let words = unsafeBitCast(mask, to: SIMD4<UInt64>.self)
        return words[0] & words[1] & words[2] & words[3] == .max
    }

    /// The maximum value of a row; NaN if one is NaN.
    @inline(__always)
    private static func maximum(_ scores: Plane, _ row: Int, _ range: Range<Int>) -> Float {
        var best = -Float.infinity
        guard scores.step == 1 else {
            for place in range {
                let value = scores[row, place]
                if value.isNaN { return value }
                best = value > best ? value : best
            }
            return best
        }
        let values = scores.base + row &* scores.rowStride
        var place = range.lowerBound
        if range.count >= 16 {
            var first = SIMD8<Float>(repeating: -.infinity), second = first
            var areNumbers = SIMDMask<SIMD8<Int32>>(repeating: true)
            while place &+ 16 <= range.upperBound {
                let one = UnsafeRawPointer(values + place).loadUnaligned(as: SIMD8<Float>.self)
                let two = UnsafeRawPointer(values + (place &+ 8)).loadUnaligned(as: SIMD8<Float>.self)
                first.replace(with: one, where: one .> first)
                second.replace(with: two, where: two .> second)
                areNumbers = areNumbers .& (one .== one) .& (two .== two)
                place &+= 16
            }
            guard all(areNumbers) else { return .nan }
            first.replace(with: second, where: second .> first)
            for lane in 0..<8 { best = first[lane] > best ? first[lane] : best }
        }
        while place < range.upperBound {
            let value = values[place]
            if value.isNaN { return value }
            best = value > best ? value : best
            place &+= 1
        }
        return best
    }

    // MARK: Classes with consecutive rows

    /// Finds the best class of many rows at a time, class by class, so that memory is read sequentially.
    private func columns(_ scores: Plane, _ batch: Range<Int>, _ firstRow: Int, _ candidates: inout Candidates) {
        let (range, shift) = classes(scores)
        withUnsafeTemporaryAllocation(of: Float.self, capacity: batch.count) { best in
            guard let best = best.baseAddress else { return }
            best.initialize(repeating: -.infinity, count: batch.count)
            // A number without branches, so that the compiler vectorizes the loop.
            var unordered: UInt32 = 0
            for place in range {
                let values = scores.base + (place &* scores.step &+ batch.lowerBound)
                for index in 0..<batch.count {
                    let value = values[index]
                    best[index] = value > best[index] ? value : best[index]
                    unordered |= value == value ? 0 : 1
                }
            }
            if unordered != 0 { candidates.hasNaN = true }
            for index in 0..<batch.count where best[index] >= minimum {
                let row = batch.lowerBound &+ index
                _ = each(scores, row, range) { place, value in
                    add(probability(value), firstRow &+ row, place &- shift, &candidates)
                }
            }
        }
    }

    // MARK: One distribution

    private func softmax(
        _ scores: Plane, by objectness: Plane?, _ batch: Range<Int>, _ firstRow: Int, _ candidates: inout Candidates
    ) {
        let (range, shift) = classes(scores)
        let backgroundPlace = background == .none ? nil : background == .first ? 0 : scores.count - 1
        // p(class) <= 1 / (1 + exp(background - class)): excludes most rows.
        let gap = Self.logit(threshold) - 1e-3
        for row in batch {
            let best = Self.maximum(scores, row, range)
            let other = backgroundPlace.map { scores[row, $0] } ?? -.infinity
            // The softmax of NaN, of infinity and of nothing but -infinity is NaN.
            guard best < .infinity, other == other, best > -.infinity || other > -.infinity else {
                candidates.hasNaN = true
                continue
            }
            guard best > -.infinity, !(best - other < gap) else { continue }
            let highest = max(best, other)
            var sum: Float = 0
            for place in 0..<scores.count {
                let value = exp(scores[row, place] - highest)
                if value == value { sum += value }
            }
            // With an infinite background score, all probabilities are 0.
            guard sum > 0 else { continue }
            let factor = 1 / sum
            if let objectness {
                let raw = objectness[row, 0], gate = Self.sigmoid(raw)
                if raw.isNaN { candidates.hasNaN = true }
                guard raw >= minimumObjectness else { continue }
                _ = each(scores, row, range) { place, value in
                    add(combine(gate, exp(value - highest) * factor), firstRow &+ row, place &- shift, &candidates)
                }
                continue
            }
            _ = each(scores, row, range) { place, value in
                add(exp(value - highest) * factor, firstRow &+ row, place &- shift, &candidates)
            }
        }
    }
}
