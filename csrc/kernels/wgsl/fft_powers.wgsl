// w2, ... of w1, and of w4 where Q is above 4: few factors each, so that few errors add up.
#for i in 2..Q
#if i == 2
        let w2 = times(w1, w1);
#elif i == 3
        let w3 = times(w2, w1);
#elif i == 8
        let w8 = times(w4, w4);
#elif i == 12
        let w12 = times(w8, w4);
#elif i > 4
        let w${i} = times(w${i / 4 * 4}, w${i % 4});
#end
#end
