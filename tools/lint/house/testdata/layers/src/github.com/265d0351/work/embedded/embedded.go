package embedded
