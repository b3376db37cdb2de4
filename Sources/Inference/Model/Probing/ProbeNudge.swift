/// A small random change of made-up inputs, which stands for the rounding of intermediate values.
struct ProbeNudge {
    private let number: Int
    private let traits: FileTraits

    /// - Parameter number: of the change: each is different.
    init(number: Int, _ traits: FileTraits) {
        self.number = number
        self.traits = traits
    }

    /// True if inputs of a type can change so little. One step of an integer is little only where the model rounds to
    /// such steps itself.
    static func changes(_ type: ElementType, _ traits: FileTraits) -> Bool {
        guard !traits.selectsOnly else { return false }
        return type.isFloatingPoint || (traits.computesInIntegers && [.uint8, .int8].contains(type))
    }

    /// Changes a tensor that was filled.
    func apply(to tensor: any EngineTensor, position: Int) {
        let type = tensor.elementType
        guard Self.changes(type, traits) else { return }
        var values: [Double] = []
        ElementConversion.read(UnsafeRawBufferPointer(tensor.bytes), as: type) { _, value in values.append(value) }
        let extent = AgreementRule.extent(of: values)
        let rounding = traits.computesInIntegers ? AgreementRule.integerNudge : AgreementRule.numberNudge
        for (index, value) in values.enumerated() where value.isFinite {
            let size =
                switch type {
                case .uint8, .int8: 1.0
                case .float16: max(extent * rounding, abs(value) * AgreementRule.float16Nudge)
                case .bfloat16: max(extent * rounding, abs(value) * AgreementRule.bfloat16Nudge)
                default: extent * rounding
                }
            let isUp = ProbePattern.noise(index, of: position + 64 * (number + 1)) & 1 == 0
            ElementConversion.write(isUp ? value + size : value - size, at: index, as: type, to: tensor.bytes)
        }
    }
}
