internal import Glibc

/// The function that compares two vectors (SVM.proto: `Kernel`).
enum Kernel: Sendable {
    case linear
    case radial(gamma: Double)
    case polynomial(degree: Int, c: Double, gamma: Double)
    case sigmoid(gamma: Double, c: Double)

    init(_ message: Message?) throws(Problem) {
        guard let message else { throw Problem("has no kernel") }
        if let kernel = try message.message(2) {
            self = .radial(gamma: try kernel.double(1))
        } else if let kernel = try message.message(3) {
            self = .polynomial(degree: try kernel.integer(1), c: try kernel.double(2), gamma: try kernel.double(3))
        } else if let kernel = try message.message(4) {
            self = .sigmoid(gamma: try kernel.double(1), c: try kernel.double(2))
        } else if message.has(1) {
            self = .linear
        } else {
            throw Problem("has no kernel of a known kind")
        }
    }

    /// - Parameters:
    ///   - product: computes the scalar product of the vectors.
    ///   - squaredDistance: computes the square of the Euclidean distance. Only the closure that the kernel needs is
    ///     called.
    func callAsFunction(product: () -> Double, squaredDistance: () -> Double) -> Double {
        switch self {
        case .linear: product()
        case .radial(let gamma): exp(-gamma * squaredDistance())
        case .polynomial(let degree, let c, let gamma): pow(gamma * product() + c, Double(degree))
        case .sigmoid(let gamma, let c): tanh(gamma * product() + c)
        }
    }
}

/// The vectors of a support vector machine (SVM.proto: `SparseSupportVectors`, `DenseSupportVectors`).
struct SupportVectors: Sendable {
    let kernel: Kernel
    let count: Int
    /// The length of dense vectors, or the greatest index of sparse ones.
    let width: Int
    let isDense: Bool
    private var values: [Double] = []
    /// For sparse vectors: the start of each in `values`, then the number of values; and the position of each value.
    private var starts: [Int] = [], positions: [Int] = []

    init(_ message: Message, sparse: Int, dense: Int) throws(Problem) {
        kernel = try Kernel(message.message(1))
        if let vectors = try message.message(dense) {
            let rows = vectors.all(1)
            var width: Int?
            for (index, row) in rows.enumerated() {
                let numbers = try row.message().doubles(1)
                if let width, width != numbers.count {
                    throw Problem("vectors[\(index)] has \(numbers.count) numbers, vectors[0] has \(width)")
                }
                try requireFinite(numbers, "vectors[\(index)]")
                width = numbers.count
                values += numbers
            }
            (isDense, count) = (true, rows.count)
            self.width = width ?? 0
        } else if let vectors = try message.message(sparse) {
            let rows = vectors.all(1)
            var width = 0
            for (index, row) in rows.enumerated() {
                starts.append(values.count)
                for node in try row.message().messages(1) {
                    let position = try node.integer(1), value = try node.double(2)
                    guard position >= 1, position <= Int(Int32.max) else {
                        throw Problem("vectors[\(index)] has the index \(position): expected 1 or more")
                    }
                    guard value.isFinite else { throw Problem("vectors[\(index)] has the value \(value)") }
                    if positions.count > starts[index], let last = positions.last, last >= position - 1 {
                        throw Problem("vectors[\(index)] has indices that are not in ascending order")
                    }
                    positions.append(position - 1)
                    values.append(value)
                    width = max(width, position)
                }
            }
            starts.append(values.count)
            (isDense, count) = (false, rows.count)
            self.width = width
        } else {
            throw Problem("has no support vectors")
        }
    }

    /// The kernel of the input and each support vector.
    /// - Parameter vector: `width` numbers if the vectors are dense, at least `width` if they are sparse.
    func kernels(_ vector: [Double]) -> [Double] {
        isDense ? denseKernels(vector) : sparseKernels(vector)
    }

    private func denseKernels(_ vector: [Double]) -> [Double] {
        (0..<count).map { row in
            let start = row * width
            return kernel {
                var sum = 0.0
                for column in 0..<width { sum += vector[column] * values[start + column] }
                return sum
            } squaredDistance: {
                var sum = 0.0
                for column in 0..<width {
                    let difference = vector[column] - values[start + column]
                    sum += difference * difference
                }
                return sum
            }
        }
    }

    private func sparseKernels(_ vector: [Double]) -> [Double] {
        (0..<count).map { row in
            kernel {
                var sum = 0.0
                for entry in starts[row]..<starts[row + 1] { sum += vector[positions[entry]] * values[entry] }
                return sum
            } squaredDistance: {
                var sum = 0.0
                var entry = starts[row]
                for column in vector.indices {
                    var difference = vector[column]
                    if entry < starts[row + 1], positions[entry] == column {
                        difference -= values[entry]
                        entry += 1
                    }
                    sum += difference * difference
                }
                return sum
            }
        }
    }
}

/// The input of a support vector machine as a vector.
struct SupportVectorInputs: Sendable {
    private let inputs: NumberInputs
    private let vectors: SupportVectors

    init(_ description: InterfaceSpecification, vectors: SupportVectors) throws(Problem) {
        inputs = try NumberInputs(description.inputs)
        self.vectors = vectors
        guard let declared = description.inputs.numberCount else { return }
        guard vectors.count == 0 || (vectors.isDense ? declared == vectors.width : declared >= vectors.width) else {
            throw Problem("the support vectors have \(vectors.width) numbers, the inputs have \(declared)")
        }
    }

    func kernels(_ table: FeatureTable) throws(EvaluationError) -> [Double] {
        let exact = vectors.isDense && vectors.count > 0
        return vectors.kernels(
            exact
                ? try inputs.vector(table, count: vectors.width) : try inputs.vector(table, minimum: vectors.width))
    }
}
