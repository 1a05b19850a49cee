// Finds visible text with too little contrast to its background (WCAG 2.1, 1.4.3). Evaluated in a page.
(() => {
    const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    const layer = (colour) => {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
        return { parts: [red, green, blue], alpha: alpha / 255 };
    };
    const over = ({ parts, alpha }, below) => parts.map((part, index) => part * alpha + below[index] * (1 - alpha));
    const behind = (element) => {
        if (element === null) return [255, 255, 255];
        const own = layer(getComputedStyle(element).backgroundColor);
        return own.alpha === 1 ? own.parts : over(own, behind(element.parentElement));
    };
    const light = (parts) => {
        const linear = (part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        const [red, green, blue] = parts.map((part) => linear(part / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const poor = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const isSeen = element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
            && !element.closest(".unseen, noscript, .actions");
        // WCAG excludes disabled elements and pictures, such as a letter in a coloured circle beside the name.
        if (!isSeen || walker.currentNode.data.trim() === "" || element.closest("button:disabled, svg")) continue;
        const below = behind(element);
        const [a, b] = [light(over(layer(getComputedStyle(element).color), below)), light(below)].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        const name = element.className || element.id || element.tagName;
        if (ratio < 4.5) poor.push(`${ratio.toFixed(2)}: ${walker.currentNode.data.trim().slice(0, 40)} (${name})`);
    }
    return poor;
})()
