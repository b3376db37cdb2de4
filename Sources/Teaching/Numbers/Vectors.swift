/// The inner loops over embeddings. Sums use 64-bit numbers in a fixed order, so equal inputs give equal bits.
enum Vectors {
    /// The dot product, in eight lanes that are added at the end.
    @inline(__always)
    static func dot(_ a: UnsafeBufferPointer<Double>, _ b: UnsafeBufferPointer<Double>) -> Double {
        let count = min(a.count, b.count)
        var lanes = SIMD8<Double>(repeating: 0)
        var index = 0
        while index &+ 8 <= count {
            lanes += eight(a, index) * eight(b, index)
            index &+= 8
        }
        var sum = lanes.sum()
        while index < count {
            sum += a[index] * b[index]
            index &+= 1
        }
        return sum
    }

    /// The dot product with 32-bit numbers as the second factor.
    @inline(__always)
    static func dot(_ a: UnsafeBufferPointer<Double>, _ b: UnsafeBufferPointer<Float>) -> Double {
        let count = min(a.count, b.count)
        var lanes = SIMD8<Double>(repeating: 0)
        var index = 0
        while index &+ 8 <= count {
            lanes += eight(a, index) * SIMD8<Double>(eight(b, index))
            index &+= 8
        }
        var sum = lanes.sum()
        while index < count {
            sum += a[index] * Double(b[index])
            index &+= 1
        }
        return sum
    }

    /// The cosine, from -1 to 1, of vectors with known squares of their lengths; 0 if one has no direction. Exactly 1
    /// for equal vectors, and with the same bits if the vectors change places.
    @inline(__always)
    static func cosine(
        _ numbers: UnsafeBufferPointer<Double>, square: Double, _ values: UnsafeBufferPointer<Float>,
        square other: Double
    ) -> Double {
        // One root of the product, so that a vector is exactly 1 to itself.
        let length = (square * other).squareRoot()
        return length > 0 ? min(max(dot(numbers, values) / length, -1), 1) : 0
    }

    /// The square of the length, added in the same order as a dot product.
    @inline(__always)
    static func square(_ values: UnsafeBufferPointer<Float>) -> Double {
        var lanes = SIMD8<Double>(repeating: 0)
        var index = 0
        while index &+ 8 <= values.count {
            let numbers = SIMD8<Double>(eight(values, index))
            lanes += numbers * numbers
            index &+= 8
        }
        var sum = lanes.sum()
        while index < values.count {
            sum += Double(values[index]) * Double(values[index])
            index &+= 1
        }
        return sum
    }

    /// Computes `sum += factor * values`.
    @inline(__always)
    static func add(_ factor: Double, _ values: UnsafeBufferPointer<Double>, to sum: UnsafeMutableBufferPointer<Double>)
    {
        let count = min(values.count, sum.count)
        var index = 0
        while index &+ 8 <= count {
            store(eight(UnsafeBufferPointer(sum), index) + eight(values, index) * factor, in: sum, index)
            index &+= 8
        }
        while index < count {
            sum[index] += factor * values[index]
            index &+= 1
        }
    }

    /// Computes `sum += values` for 32-bit numbers.
    @inline(__always)
    static func add(_ values: UnsafeBufferPointer<Float>, to sum: UnsafeMutableBufferPointer<Double>) {
        let count = min(values.count, sum.count)
        var index = 0
        while index &+ 8 <= count {
            store(eight(UnsafeBufferPointer(sum), index) + SIMD8<Double>(eight(values, index)), in: sum, index)
            index &+= 8
        }
        while index < count {
            sum[index] += Double(values[index])
            index &+= 1
        }
    }

    /// Writes the values less the centre to `result`. Returns the square of its length.
    @inline(__always)
    static func center(
        _ values: UnsafeBufferPointer<Float>, _ center: UnsafeBufferPointer<Float>,
        in result: UnsafeMutableBufferPointer<Double>
    ) -> Double {
        let count = min(values.count, center.count, result.count)
        var lanes = SIMD8<Double>(repeating: 0)
        var index = 0
        while index &+ 8 <= count {
            let difference = SIMD8<Double>(eight(values, index)) - SIMD8<Double>(eight(center, index))
            store(difference, in: result, index)
            lanes += difference * difference
            index &+= 8
        }
        var square = lanes.sum()
        while index < count {
            let difference = Double(values[index]) - Double(center[index])
            result[index] = difference
            square += difference * difference
            index &+= 1
        }
        return square
    }

    /// The square of the length of the values less the centre.
    @inline(__always)
    static func squaredDistance(_ values: UnsafeBufferPointer<Float>, _ center: UnsafeBufferPointer<Double>) -> Double {
        let count = min(values.count, center.count)
        var lanes = SIMD8<Double>(repeating: 0)
        var index = 0
        while index &+ 8 <= count {
            let difference = SIMD8<Double>(eight(values, index)) - eight(center, index)
            lanes += difference * difference
            index &+= 8
        }
        var square = lanes.sum()
        while index < count {
            let difference = Double(values[index]) - center[index]
            square += difference * difference
            index &+= 1
        }
        return square
    }

    /// Computes `sum += factor * (values - center)`.
    @inline(__always)
    static func add(
        _ factor: Double, _ values: UnsafeBufferPointer<Float>, less center: UnsafeBufferPointer<Double>,
        to sum: UnsafeMutableBufferPointer<Double>
    ) {
        let count = min(values.count, center.count, sum.count)
        var index = 0
        while index &+ 8 <= count {
            let difference = SIMD8<Double>(eight(values, index)) - eight(center, index)
            store(eight(UnsafeBufferPointer(sum), index) + difference * factor, in: sum, index)
            index &+= 8
        }
        while index < count {
            sum[index] += (Double(values[index]) - center[index]) * factor
            index &+= 1
        }
    }

    @inline(__always)
    private static func eight<T: SIMDScalar>(_ values: UnsafeBufferPointer<T>, _ index: Int) -> SIMD8<T> {
        UnsafeRawPointer(values.baseAddress.unsafelyUnwrapped + index).loadUnaligned(as: SIMD8<T>.self)
    }

    @inline(__always)
    private static func store(_ lanes: SIMD8<Double>, in values: UnsafeMutableBufferPointer<Double>, _ index: Int) {
        UnsafeMutableRawPointer(values.baseAddress.unsafelyUnwrapped + index).storeBytes(
            of: lanes, as: SIMD8<Double>.self)
    }
}
