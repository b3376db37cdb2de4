#if canImport(Glibc)
    internal import Glibc
#else
    internal import Musl
#endif

/// Suppression of turned boxes as Ultralytics' `fast_nms` with `batch_probiou`: the overlap of two boxes is 1 minus the
/// Hellinger distance of their Gaussians (arXiv 2106.06072), and a box is dropped if any more confident box overlaps it
/// by more than `iou`, even one that is dropped itself.
package enum TurnedSuppression {
    /// - Parameters:
    ///   - boxes: finite, the most confident first.
    ///   - labels: the class of each box; boxes of different classes do not suppress each other. Nil: all do.
    ///   - iou: the overlap above which a box is dropped, 0 to 1.
    ///   - maximum: the maximum number of boxes to keep; `maximumPerClass`: that for each class.
    /// - Returns: the indices of the kept boxes, in order.
    package static func survivors(
        of boxes: [TurnedBox], labels: [Int32]?, iou: Float, maximum: Int, maximumPerClass: Int? = nil,
        isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [Int] {
        let threshold = Double(iou), nearest = Gaussian.distance(atOverlap: threshold)
        var kept: [Int] = []
        var earlier: [Int32: [Gaussian]] = [:], counts: [Int32: Int] = [:]
        for index in boxes.indices {
            if kept.count >= maximum { break }
            if index & 63 == 63, isCancelled() { throw .cancelled }
            let label = labels.map { $0[index] } ?? 0, shape = Gaussian(boxes[index])
            if let maximumPerClass, counts[label, default: 0] >= maximumPerClass { continue }
            let isDropped =
                earlier[label]?.withUnsafeBufferPointer { others in
                    others.contains { $0.overlaps(shape, by: threshold, nearest: nearest) }
                } ?? false
            earlier[label, default: []].append(shape)
            if isDropped { continue }
            kept.append(index)
            if maximumPerClass != nil { counts[label, default: 0] += 1 }
        }
        return kept
    }

    /// The overlap of two boxes, 0 to 1.
    package static func overlap(_ one: TurnedBox, _ other: TurnedBox) -> Double {
        Gaussian(one).overlap(with: Gaussian(other))
    }

    /// The normal distribution with a box's center as the mean, and the variances of a uniform distribution over it.
    private struct Gaussian {
        let x: Double, y: Double
        /// The covariance matrix: of x, of y, of both; its determinant.
        let a: Double, b: Double, c: Double, determinant: Double

        /// Ultralytics' guard against divisions by zero.
        static let epsilon = 1e-7

        init(_ box: TurnedBox) {
            (x, y) = (box.x, box.y)
            let along = box.width * box.width / 12, across = box.height * box.height / 12
            let (cosine, sine) = (cos(box.angle), sin(box.angle))
            a = along * cosine * cosine + across * sine * sine
            b = along * sine * sine + across * cosine * cosine
            c = (along - across) * cosine * sine
            determinant = max(0, a * b - c * c)
        }

        /// The Bhattacharyya distance at which two boxes have this overlap: nearer ones have a greater one.
        static func distance(atOverlap overlap: Double) -> Double {
            let hellinger = 1 - overlap
            return -log(1 + epsilon - hellinger * hellinger)
        }

        /// The part of the Bhattacharyya distance that the centers have; the shapes add to it.
        @inline(__always)
        private func distanceOfCenters(_ other: Gaussian) -> (distance: Double, determinant: Double) {
            let (a, b, c) = (a + other.a, b + other.b, c + other.c)
            let determinant = a * b - c * c, (across, down) = (x - other.x, y - other.y)
            let sum = a * down * down + b * across * across - 2 * c * across * down
            return (sum * 0.25 / (determinant + Self.epsilon), determinant)
        }

        private func overlap(_ other: Gaussian, _ centers: (distance: Double, determinant: Double)) -> Double {
            let mean = 4 * (determinant * other.determinant).squareRoot() + Self.epsilon
            let shapes = log(centers.determinant / mean + Self.epsilon) * 0.5
            let distance = min(max(centers.distance + shapes, Self.epsilon), 100)
            return 1 - (1 - exp(-distance) + Self.epsilon).squareRoot()
        }

        func overlap(with other: Gaussian) -> Double { max(0, overlap(other, distanceOfCenters(other))) }

        /// - Parameter nearest: the distance of that overlap.
        @inline(__always)
        func overlaps(_ other: Gaussian, by threshold: Double, nearest: Double) -> Bool {
            let centers = distanceOfCenters(other)
            // Most boxes are far apart and end here. The margin covers distances of shapes that are rounded below 0.
            guard centers.distance <= nearest + 1e-3 else { return false }
            return overlap(other, centers) > threshold
        }
    }
}
